"""`discreet tables` and `discreet explain` about a server, for whoever may only read."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.cli.conftest import Run
from tests.server.conftest import COUNT, Running
from tests.server.conftest import run as serve


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from serve(tmp_path_factory.mktemp("service"))


@pytest.mark.parametrize("who", ["ana", "rita", "stella"])
def test_tables_and_columns_are_those_that_sql_shows(
    service: Running, run: Run, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    monkeypatch.setenv("DISCREET_TOKEN", service.tokens[who])
    session = service.service.datasets["hospital"].session
    for name, text in (((), "SHOW TABLES"), (("VISITS",), "DESCRIBE visits")):
        listed = json.loads(run("tables", *name, "--server", service.url, "--json").stdout)
        assert listed == [dict(row) for row in session.sql(text)]
        shown = run("tables", *name, "--server", service.url).stdout
        assert all(str(value) in shown for row in listed for value in row.values() if value is not None)
    missing = run("tables", "vists", "--server", service.url)
    assert missing.exit_code == 2
    assert "visits" in missing.stderr
    assert run("tables", "--server", service.url, "--source", "x.csv").exit_code == 2


def test_a_plan_of_a_server_is_shown(
    service: Running, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("DISCREET_TOKEN", service.tokens["rita"])
    asked = ["explain", "--server", service.url, COUNT, "--epsilon", "0.5"]
    assert json.loads(run(*asked, "--json").stdout)["epsilon"] == "0.5"
    assert run(*asked, "--svg", f"{tmp_path}/plan.svg").exit_code == 0
    refused = run(*asked, "--sql")
    assert refused.exit_code == 2
    assert "does not tell" in refused.stderr
