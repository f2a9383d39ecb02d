from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer

from discreet.mcp import tools
from discreet.mcp.texts import WITHHELD, Texts
from discreet.server.service import Service
from tests.mcp.conftest import EVIL, ODD, call, talk

BY_COUNTY = "SELECT county, COUNT(*) AS n FROM visits GROUP BY county ORDER BY county"


def test_an_assistant_finds_its_way(assistant: MCPServer) -> None:
    async def names(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    assert talk(assistant, names) == ["list_tables", "describe_table", "preview", "query", "history"]
    listed = call(assistant, "list_tables").json
    assert [table["table"] for table in listed["tables"]] == ["visits", "counties"]
    described = call(assistant, "describe_table", table="visits").json
    assert [one["column"] for one in described["columns"]] == ["age", "county", "sex", "town"]
    assert described["columns"][2]["keys"] == ["f", "m"]
    seen = call(assistant, "preview", query=BY_COUNTY, epsilon="0.5").json
    assert seen["half_width_of_interval"]["n"] > 0
    answer = call(assistant, "query", query=BY_COUNTY, epsilon="0.5").json
    assert answer["columns"] == ["county", "n", "n_low", "n_high"]
    assert [row[0] for row in answer["rows"]] == ["A", "B"]
    assert answer["budget"]["left"] == "1.5"
    again = call(assistant, "query", query=BY_COUNTY, epsilon="0.5").json
    assert (again["replayed_for_nothing"], again["rows"]) == (True, answer["rows"])
    assert not seen["replayed_for_nothing"]
    known = call(assistant, "preview", query=BY_COUNTY, epsilon="0.5").json
    assert (known["replayed_for_nothing"], known["cost"]) == (True, "0")
    past = call(assistant, "history").json
    assert [one["asked"]["query"] for one in past["charged"]] == [BY_COUNTY]
    assert past["budget"]["left"] == "1.5"


def test_the_budget_cannot_be_exceeded_by_asking_at_once(assistant: MCPServer, service: Service) -> None:
    def ask(at: int) -> bool:
        asked = f"SELECT COUNT(*) AS n FROM visits WHERE age > {at}"
        return call(assistant, "query", query=asked, epsilon="0.7").error

    with ThreadPoolExecutor(4) as pool:
        refused = list(pool.map(ask, range(6)))
    assert refused.count(False) == 2
    assert call(assistant, "history").json["budget"]["left"] == "0.6"
    (name,) = service.datasets
    assert service.datasets[name].session.budget.spent < 2


def test_no_row_is_shown_and_errors_say_what_was_charged(assistant: MCPServer) -> None:
    refused = call(assistant, "query", query="SELECT age FROM visits", epsilon="0.1")
    assert refused.error
    assert "Nothing was charged." in refused.text
    assert call(assistant, "describe_table", table="nothing").error
    assert call(assistant, "query", query="SELECT 1", epsilon="-1").error


PLANTED: list[dict[str, Any]] = [
    {"query": "SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex"},
    {"query": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (delta = 1e-7) town, COUNT(*) FROM visits GROUP BY 1"},
    {"query": "SELECT town, COUNT(*) AS n FROM visits GROUP BY town"},
    {"query": "SELECT * FROM counties"},
    {"query": "SELECT [about], {'a': about}, about || '!', upper(about) FROM counties"},
    {"query": "SELECT MAX(about) AS m, list(about) AS l, string_agg(about, '') AS s FROM counties"},
    {"query": "SELECT about, SUM(n) AS n FROM (SELECT county, COUNT(*) AS n FROM visits GROUP BY county) "
              "JOIN counties USING (county) GROUP BY about"},
    {"query": "PIVOT (SELECT about, pop FROM counties) ON about USING SUM(pop)"},
    {"query": "SELECT map([about], [1]) FROM counties"},
    {"query": "SELECT CAST(about AS INTEGER) FROM counties"},
    {"query": "SELECT error(about) FROM counties"},
    {"query": "SELECT nothing FROM visits"},
    {"query": "SELECT COUNT(ignore_all) FROM visits"},
    {"query": "SELECT MAX(town) FROM visits"},
    {"query": "SELECT * FROM visits"},
    {"query": "SELECT COLUMNS('.*x') FROM visits"},
    {"query": "DESCRIBE visits"},
    {"query": "SUMMARIZE visits"},
    {"query": "SUMMARIZE counties"},
    {"query": "SELECT * FROM information_schema.columns"},
    {"query": "EXPLAIN SELECT COUNT(*) FROM visits"},
]  # fmt: skip


def test_no_text_of_the_data_is_ever_answered(assistant: MCPServer) -> None:
    said = []
    calls: list[tuple[str, dict[str, Any]]] = [("list_tables", {}), ("history", {})]
    calls += [("describe_table", {"table": name}) for name in ("visits", "counties")]
    calls += [(tool, {**asked, "epsilon": "0.01"}) for asked in PLANTED for tool in ("preview", "query")]
    for tool, given in [*calls, ("history", {})]:
        said.append(one := call(assistant, tool, **given))
        assert EVIL.lower() not in one.text.lower(), one.text
    assert any(WITHHELD in one.text for one in said)
    assert sum(not one.error for one in said) > 12, "the question must get as far as an answer"


@pytest.mark.parametrize("check", ["value", "prose", "heading", "shown", "quoted"])
def test_each_way_of_a_text_would_be_found(
    assistant: MCPServer, monkeypatch: pytest.MonkeyPatch, check: str
) -> None:
    if check == "quoted":
        monkeypatch.setattr(tools, "QUOTED", "something else")
    else:
        monkeypatch.setattr(Texts, check, lambda _, text, *__: True if check == "shown" else text)
    with pytest.raises(AssertionError):
        test_no_text_of_the_data_is_ever_answered(assistant)


def test_found_groups_are_refused_before_the_charge(
    assistant: MCPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = str(PLANTED[1]["query"])
    assert call(assistant, "query", query=asked, epsilon="0.01").error
    assert call(assistant, "history").json["budget"]["left"] == "2"
    monkeypatch.setattr(tools, "see_keys", lambda _: None)
    assert WITHHELD in call(assistant, "query", query=asked, epsilon="0.01").text, (
        "two checks stand behind each other"
    )


def test_an_unforeseen_error_says_nothing(
    assistant: MCPServer, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(EVIL)

    monkeypatch.setattr("discreet.session.analyst.AnalystSession.sql", broken)
    said = call(assistant, "query", query=BY_COUNTY, epsilon="0.1")
    assert said.error
    assert EVIL not in said.text + caplog.text


def test_an_answer_of_many_rows_is_cut(assistant: MCPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "MOST_ROWS", 1)
    answer = call(assistant, "query", query=BY_COUNTY, epsilon="0.5").json
    assert len(answer["rows"]) == 1
    assert answer["left_out"].startswith("1 rows")


def test_the_odd_column_can_be_asked_for_by_who_knows_its_name(assistant: MCPServer) -> None:
    asked = f'SELECT COUNT("{ODD}") AS n FROM visits'
    assert not call(assistant, "query", query=asked, epsilon="0.1").error


def test_a_price_is_a_text_or_a_number(assistant: MCPServer) -> None:
    """Assistants write numbers where they can; a number is read as its shortest decimal, so both are one question."""
    answer = call(assistant, "query", query=BY_COUNTY, epsilon=0.1).json
    assert (answer["epsilon"], answer["budget"]["left"]) == ("0.1", "1.9")
    again = call(assistant, "query", query=BY_COUNTY, epsilon="0.1").json
    assert (again["replayed_for_nothing"], again["rows"]) == (True, answer["rows"])
    assert call(assistant, "preview", query=BY_COUNTY, epsilon=1).json["epsilon"] == "1"
    for wrong in (True, None, [0.1], -1, 0, "x" * 101, float("inf")):
        assert call(assistant, "query", query=BY_COUNTY, epsilon=wrong).error, wrong
    assert "thousands of digits" in call(assistant, "query", query=BY_COUNTY, epsilon=10**5000).text
    assert call(assistant, "history").json["budget"]["left"] == "1.9"


def test_programs_may_ask_their_user_before_a_charge_alone(assistant: MCPServer) -> None:
    async def reads(client: Client) -> dict[str, Any]:
        tools = (await client.list_tools()).tools
        return {tool.name: tool.annotations and tool.annotations.read_only_hint for tool in tools}

    known = talk(assistant, reads)
    assert [name for name, read_only in known.items() if not read_only] == ["query"]
