"""The command line against a server that really listens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from pyarrow import parquet
from tests.cli.conftest import Run
from tests.server.conftest import COUNT
from tests.server.conftest import Running as Service
from tests.server.conftest import run as serve

from discreet.client import connect
from discreet.ledger.terms import Terms


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    yield from serve(tmp_path_factory.mktemp("service"))


@pytest.fixture(autouse=True)
def token(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_TOKEN", service.tokens["ana"])


def test_a_question_is_asked_of_a_server(service: Service, run: Run, tmp_path: Path) -> None:
    asked = ["query", "--server", service.url, COUNT, "--epsilon", "0.5"]
    answer = run(*asked, "--json")
    assert answer.exit_code == 0, answer.output
    rows = json.loads(answer.stdout)["rows"]
    assert [row["county"] for row in rows] == ["A", "B", "C"]
    assert "19.5 left of 20" in answer.stderr
    assert run(*asked, "--output", str(tmp_path / "a.parquet")).exit_code == 0
    stored = parquet.read_table(tmp_path / "a.parquet")
    assert stored.column("n").to_pylist() == [row["n"] for row in rows]
    assert run(*asked, "--output", str(tmp_path / "a.svg")).exit_code == 0
    assert service.service.datasets["hospital"].analyst("ana", Terms(Fraction(20))).budget.spent == Fraction(
        1, 2
    )


def test_a_server_answers_a_free_question_without_a_price(service: Service, run: Run) -> None:
    answer = run("query", "--server", service.url, "SELECT 1 AS one", "--json")
    assert (answer.exit_code, json.loads(answer.stdout or "{}").get("rows")) == (0, [{"one": 1}])
    refused = run("query", "--server", service.url, COUNT)
    assert (refused.exit_code, "name the cost with --epsilon" in refused.stderr) == (2, True)


def test_previews_and_invented_data_are_free(service: Service, run: Run) -> None:
    assert "± " in run("preview", "--server", service.url, COUNT, "--epsilon", "0.5").stdout
    mock = run("query", "--mock", "--server", service.url, COUNT, "--epsilon", "5")
    assert "nothing was charged" in mock.stderr


def test_the_card_of_a_data_set_is_that_of_its_policy(
    service: Service, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = service.service.datasets["hospital"].session.card()
    for who in ("ana", "stella"):
        monkeypatch.setenv("DISCREET_TOKEN", service.tokens[who])
        said = run("card", "--server", service.url, "--form", "json")
        assert said.exit_code == 0, said.output
        assert json.loads(said.stdout) == here.to_dict()
        assert run("card", "--server", service.url).stdout == here.to_markdown()
    there = connect(service.url)
    assert there.card() == here
    assert run("card", "--server", service.url, "-p", "policy.toml").exit_code == 2


def test_errors_have_the_exit_codes_of_data_at_hand(service: Service, run: Run) -> None:
    asked = ["query", "--server", service.url]
    assert run(*asked, "SELECT age FROM visits", "--epsilon", "1").exit_code == 2
    assert run(*asked, COUNT, "--epsilon", "49").exit_code == 3
    assert run(*asked, COUNT, "--epsilon", "1", "--source", "x.csv").exit_code == 2
    assert run("query", "--dataset", "hospital", COUNT, "--epsilon", "1").exit_code == 2
    assert run("query", "--server", "http://stats.example.org", COUNT, "--epsilon", "1").exit_code == 2
    assert run("query", "--server", "http://127.0.0.1:1", COUNT, "--epsilon", "1").exit_code == 1


def test_a_budget_on_a_server_is_the_analysts_own(
    service: Service, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ben spends nothing that is Ana's, and sees nothing of it but the rest of the data set."""
    monkeypatch.setenv("DISCREET_TOKEN", service.tokens["ben"])
    before = json.loads(run("budget", "--server", service.url, "--json").stdout)
    assert run("query", "--server", service.url, COUNT, "--epsilon", "0.375").exit_code == 0
    after = json.loads(run("budget", "--server", service.url, "--json").stdout)
    assert after["count"] == before["count"] + 1
    assert after["charges"][-1]["epsilon"] == "0.375"
    shown = run("budget", "--server", service.url, "--limit", "1").stdout
    for words in ("0.375", "SELECT", "of the data set"):
        assert words in shown
    queries = {"one": "SELECT COUNT(*) AS n FROM visits", "two": "SELECT AVG(age) AS mean FROM visits"}
    asked = {"queries": queries, "epsilon": 0.125}
    assert service.call("POST", "/api/v1/datasets/hospital/workload", "ben", asked).status == 200
    assert "; ".join(queries.values())[:55] in run("budget", "--server", service.url, "-n", "1").stdout
    assert run("budget", "--server", service.url, "--ledger", "x.db").exit_code == 2
    assert run("budget", "--server", service.url, "adopt").exit_code == 2
    assert run("budget", "--server", service.url, "verify").exit_code == 1  # an analyst may not
