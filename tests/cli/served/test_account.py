"""`discreet budget` about a server: forecasts of an analyst, and the chain that a steward has verified."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.cli.conftest import Run
from tests.server.conftest import COUNT, Running
from tests.server.conftest import run as serve

from discreet.cli.served.account import one_line
from discreet.errors import LedgerCorrupt


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from serve(tmp_path_factory.mktemp("service"))


def test_a_forecast_is_of_the_analyst_and_of_the_data_set(
    service: Running, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_TOKEN", service.tokens["ana"])
    assert run("query", "--server", service.url, COUNT, "--epsilon", "5").exit_code == 0
    asked = ["budget", "forecast", "--epsilon", "0.5", "--releases", "100", "--server", service.url]
    found = json.loads(run(*asked, "--json").stdout)["forecast"]
    assert [(one["budget"], one["fit"], one["most"]) for one in found] == [
        ("analyst ana", 30, "0.15"),
        ("the data set", 90, "0.45"),
    ]
    assert "analyst ana" in run(*asked).stdout
    assert (
        json.loads(run("budget", "--server", service.url, *asked[1:6], "--json").stdout)["forecast"] == found
    )
    service.service.people.grant("test", "ana", "hospital", 20, most="0.1")
    own = json.loads(run(*asked, "--json").stdout)["forecast"][0]
    assert (own["fit"], own["most"]) == (0, "0.1")  # one question may not cost so much
    service.service.people.grant("test", "ana", "hospital", 20)
    assert run(*asked, "-o", "a.svg").exit_code == 2
    assert run(*asked[:2], "--epsilon", "0", "--server", service.url).exit_code == 2
    assert run("budget", "forecast", "-e", "1", "--releases", "5000", "--server", service.url).exit_code == 2
    monkeypatch.setenv("DISCREET_TOKEN", service.tokens["stella"])
    (whole,) = json.loads(run(*asked, "--json").stdout)["forecast"]
    assert whole["budget"] == "the data set"


def test_a_steward_has_the_chain_verified(
    service: Running, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["budget", "verify", "--server", service.url]
    monkeypatch.setenv("DISCREET_TOKEN", service.tokens["ana"])
    refused = run(*asked)
    assert refused.exit_code == 1
    assert "needs the scope audit" in refused.stderr
    monkeypatch.setenv("DISCREET_TOKEN", service.tokens["audrey"])
    said = run(*asked)
    assert "each unchanged" in said.stdout
    head = said.stdout.split()[-1]
    assert json.loads(run(*asked, "--noted", head, "--json").stdout)["head"] == head
    wrong = f"{head.partition(':')[0]}:{'0' * 64}"
    assert "not unchanged" in run(*asked, "--noted", wrong).stderr
    assert run(*asked, "--noted", "1:xyz").exit_code == 2
    assert run("budget", "--server", service.url, "adopt").exit_code == 2
    assert run(*asked, "--ledger", "x.db").exit_code == 2
    assert "steward" in run("budget", "--server", service.url).stderr
    ledger = service.service.datasets["hospital"].session.ledger

    def broken(*_: object) -> int:
        raise LedgerCorrupt("The secret entry 7 is altered.", "")

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "verify", broken)
        fault = run(*asked)
    assert fault.exit_code == 1
    assert "secret" not in fault.stderr


def test_text_of_others_is_one_short_line() -> None:
    assert one_line("a\nb\x1b[2J", 60) == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[2J"
    assert one_line("abcdef", 3) == "ab…"
