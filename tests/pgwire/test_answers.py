from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction

import pytest

from discreet.errors import DiscreetError, InvalidParameter, QueryRefused
from discreet.pgwire import types
from discreet.pgwire.answers import NOISE, ConnectionAnswers, Failed, Result, position, without_conditions
from discreet.server.people import Caller
from discreet.server.service import Service
from discreet.server.start import open_service
from tests.server.conftest import COUNT, FAST, make_hospital


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    opened = open_service([make_hospital(tmp_path_factory.mktemp("h") / "hospital")], FAST)
    opened.people.add("test", "ana", "analyst")
    opened.people.grant("test", "ana", "hospital", 20)
    yield opened
    opened.close()


@pytest.fixture
def answers(service: Service) -> ConnectionAnswers:
    return ConnectionAnswers(service, Caller("ana", "analyst", frozenset({"read", "ask"}), "t"), "hospital")


def ask(answers: ConnectionAnswers, *texts: str) -> Result:
    async def asking() -> Result:
        results = [await answers.result(text) for text in texts]
        return results[-1]

    return asyncio.run(asking())


def test_settings_transactions_and_questions(answers: ConnectionAnswers) -> None:
    assert ask(answers, "SET discreet.epsilon = 0.5").tag == "SET"
    assert answers.settings.epsilon == Fraction(1, 2)
    result = ask(answers, COUNT)
    assert (result.tag, [one.name for one in result.columns]) == ("SELECT 3", ["county", "n"])
    assert result.notices == ["epsilon 0.5 charged; epsilon 19.5 left", NOISE]
    assert ask(answers, COUNT).notices == ["an earlier answer, for nothing; epsilon 19.5 left"]
    assert ask(answers, "SET extra_float_digits = 3").tag == "SET"
    assert ask(answers, "SHOW transaction isolation level").rows == [("serializable",)]
    assert ask(answers, "SHOW discreet.epsilon").rows == [("0.5",)]
    assert ask(answers, "SHOW discreet").rows[0] == ("discreet.epsilon", "0.5")
    assert [one.name for one in asyncio.run(answers.columns("SHOW discreet"))] == ["name", "setting"]
    assert ask(answers, "DISCARD ALL").tag == "DISCARD ALL"
    assert ask(answers, "DISCARD PLANS").tag == "DISCARD"
    assert answers.settings.shown("epsilon") == ""
    assert ask(answers, "SHOW TABLES").rows[0][0] == "visits"
    with pytest.raises(InvalidParameter):
        ask(answers, "SHOW discreet.nothing")


@pytest.mark.parametrize(
    "back", ["RESET ALL", "DISCARD ALL", "RESET discreet.epsilon", "SET discreet.epsilon = DEFAULT"]
)
def test_settings_go_back_to_those_of_the_start(answers: ConnectionAnswers, back: str) -> None:
    answers.set("discreet.epsilon", "0.25")
    ask(answers, "SET discreet.epsilon = 4")
    ask(answers, back)
    assert answers.settings.epsilon == Fraction(1, 4)


def test_the_catalogue_is_closed_with_the_data_set(answers: ConnectionAnswers, service: Service) -> None:
    asked = "SELECT relname FROM pg_class"
    assert ask(answers, asked).rows == [("visits",)]
    service.people.withdraw("test", "ana", "hospital")
    try:
        with pytest.raises(DiscreetError):
            ask(answers, asked)
    finally:
        service.people.grant("test", "ana", "hospital", 20)


def test_show_all_is_refused_as_any_other_word(answers: ConnectionAnswers) -> None:
    with pytest.raises(QueryRefused):
        ask(answers, "SHOW ALL")


def test_a_transaction_that_failed_does_nothing_until_its_end(answers: ConnectionAnswers) -> None:
    assert ask(answers, "BEGIN").tag == "BEGIN"
    assert answers.state == "T"
    answers.fail()
    with pytest.raises(Failed):
        ask(answers, "SELECT 1")
    assert ask(answers, "COMMIT").tag == "ROLLBACK"
    assert answers.state == "I"
    answers.fail()
    assert answers.state == "I"


@pytest.mark.parametrize("intervals", [False, True])
def test_columns_are_told_before_and_are_those_of_the_answer(
    answers: ConnectionAnswers, intervals: bool
) -> None:
    answers.set("discreet.epsilon", "0.5")
    answers.set("discreet.intervals", "on" if intervals else "off")
    for text in (COUNT, "SELECT county, AVG(age) AS a, COUNT(*) > 10 AS b, 1.5 * COUNT(*) AS c FROM visits GROUP BY county",
                 "SELECT relname, oid FROM pg_class", "SHOW TABLES", "SHOW discreet.epsilon"):  # fmt: skip
        told = asyncio.run(answers.columns(text))
        assert told == ask(answers, text).columns, text
    assert asyncio.run(answers.columns("BEGIN")) == ()


def test_columns_cost_nothing(answers: ConnectionAnswers, service: Service) -> None:
    answers.set("discreet.epsilon", "0.25")
    before = service.datasets["hospital"].session.budget
    columns = asyncio.run(answers.columns(COUNT + " ORDER BY n"))
    assert [one.kind for one in columns] == [types.TEXT, types.INT8]
    priced = f"({COUNT.replace('SELECT', 'SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.3)')})"
    for text in (priced, f"PIVOT {priced} ON county USING SUM(n)", f"FROM {priced}"):
        with suppress(DiscreetError):
            asyncio.run(answers.columns(text))
    assert service.datasets["hospital"].session.budget == before


def test_a_question_with_a_price_that_is_asked_for_its_columns_would_be_found(
    answers: ConnectionAnswers, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.pgwire.answers.FREE", ("(SELECT", "PIVOT"))
    with pytest.raises(AssertionError):
        test_columns_cost_nothing(answers, service)


def test_a_question_about_the_catalogue_that_is_not_known_is_refused(answers: ConnectionAnswers) -> None:
    with pytest.raises(QueryRefused, match="catalogue"):
        ask(answers, "SELECT nothing FROM pg_class")
    with pytest.raises(QueryRefused, match="nothing"):
        ask(answers, "SELECT nothing")


ENDLESS = ["SELECT range FROM range(70000), pg_class", "SELECT range FROM range(70000)"]


@pytest.mark.parametrize("text", ENDLESS)
def test_an_answer_about_the_catalogue_is_no_larger_than_any_other(
    answers: ConnectionAnswers, text: str
) -> None:
    for asking in (lambda: ask(answers, text), lambda: asyncio.run(answers.columns(text))):
        with pytest.raises(QueryRefused, match="more rows or values"):
            asking()


def test_a_large_answer_about_the_catalogue_is_found(
    answers: ConnectionAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.pgwire.answers.is_small", lambda _: True)
    assert len(ask(answers, ENDLESS[0]).rows) == 70000


@pytest.mark.parametrize(
    ("text", "left"),
    [("SELECT a FROM t WHERE b = $1", "SELECT a FROM t"), ("SELECT $1 FROM t", "SELECT $1 FROM t"),
     ("SELECT a FROM (SELECT a FROM t WHERE x = $2) WHERE b = 1", "SELECT a FROM (SELECT a FROM t) WHERE b = 1"),
     ("SELECT (", "SELECT (")],
)  # fmt: skip
def test_conditions_with_placeholders_do_not_matter_for_columns(text: str, left: str) -> None:
    assert without_conditions(text) == left


def test_the_place_of_a_fault_is_counted_in_characters() -> None:
    text = "SELECT é,\n  age FROM visits"
    assert position(QueryRefused("No.", line=2, column=3), text) == str(text.index("age") + 1)
    assert position(QueryRefused("No."), text) == position(QueryRefused("No.", line=9, column=1), text) == ""
