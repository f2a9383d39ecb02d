"""A part of the corpus on every run: no answer is wrong, no data set is unasked, and what is refused proposes a way on.

`make corpus` asks all of it. Here one of 24 questions of each data set is asked, and two at least, by a checksum of the
names, so that they stay the same; a deep run asks one of eight.
"""

from __future__ import annotations

import math
import zlib
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks.corpus import __main__ as corpus
from benchmarks.corpus.data import Data, load, sources
from benchmarks.corpus.judge import NEEDLESS, REFUSED, RIGHT, WRONG, Verdict, difference, judge, order_of
from benchmarks.corpus.question import Question, read
from benchmarks.corpus.reasons import REASONS

from discreet.errors import QueryRefused
from discreet.sql.measures.measure import Moments
from tests.depth import DEEP

PART = 8 if DEEP else 24
"""One question in so many is asked."""


def part(folder: Path) -> list[Question]:
    mixed = sorted(read(folder), key=lambda one: zlib.crc32(one.name.encode()))
    return mixed[: max(2, math.ceil(len(mixed) / PART))]


@cache
def loaded(folder: Path) -> Data:
    """A data set, invented once for all tests."""
    return load(folder)


@pytest.fixture(scope="module", params=sources(), ids=lambda folder: folder.name)
def verdicts(request: pytest.FixtureRequest) -> list[Verdict]:
    data = loaded(request.param)
    return [judge(question, data) for question in part(request.param)]


def test_no_answer_is_wrong(verdicts: list[Verdict]) -> None:
    assert len(verdicts) > 1
    assert [(one.question.name, one.why) for one in verdicts if one.verdict == WRONG] == []


def test_what_is_refused_proposes_a_way_on(verdicts: list[Verdict]) -> None:
    refused = [one for one in verdicts if one.verdict in (REFUSED, NEEDLESS)]
    assert [one.question.name for one in refused if not (one.why and one.fix)] == []


@pytest.mark.parametrize("folder", sources(), ids=lambda folder: folder.name)
def test_what_refusals_propose_is_answered(folder: Path) -> None:
    """The statement that follows the words of a refusal is accepted, and the question itself is not."""
    asked = [one for one in read(folder) if one.instead]
    session = loaded(folder).session if asked else None
    for one in asked:
        assert session is not None
        with pytest.raises(QueryRefused) as refused:
            session.preview(one.sql, 1)
        assert refused.value.fix, one.name
        assert session.preview(one.instead, 1).epsilon == 1, one.name


def test_there_are_three_hundred_questions_each_with_a_name_of_its_own() -> None:
    listed = [one for folder in sources() for one in read(folder)]
    assert len(listed) >= 300
    assert len({(one.source, one.name) for one in listed}) == len(listed)
    assert {one.reason for one in listed} - {""} <= set(REASONS)


@pytest.fixture(scope="module")
def census() -> Data:
    (folder,) = (one for one in sources() if one.name == "census")
    return loaded(folder)


def asked(sql: str, reason: str = "", truth: str = "") -> Question:
    return Question("census", "a question", "asks", sql, truth or sql, reason)


def test_each_verdict_is_given(census: Data) -> None:
    count = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY sex"
    rows = "SELECT age FROM people"
    assert judge(asked(count), census).verdict == RIGHT
    assert judge(asked(count, truth=count.replace("*) AS n", "income) AS n")), census).verdict == WRONG
    assert judge(asked(count, reason="rows"), census).verdict == WRONG
    assert judge(asked(rows, reason="rows"), census).verdict == REFUSED
    assert judge(asked(rows), census).verdict == NEEDLESS


def test_a_fault_in_the_estimates_is_found(census: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a count is one too high."""
    real = Moments.estimate
    monkeypatch.setattr(Moments, "estimate", lambda self, what, entries: real(self, what, entries) + 1)
    assert judge(asked("SELECT AVG(age) AS age FROM people"), census).verdict == WRONG


def test_answers_that_differ_are_told_apart() -> None:
    one = pa.table({"k": ["a", "b"], "n": [1, 2]})
    assert difference(one, one, ["k"]) == ""
    assert "columns" in difference(one, one.rename_columns(["k", "m"]), [])
    assert "rows" in difference(one, one.slice(1), [])
    assert "expected" in difference(one, one.set_column(1, "n", pa.array([1, 3])), [])
    assert "order" in difference(one, one.take(pa.array([1, 0])), ["k"])
    assert difference(one, one.take(pa.array([1, 0])), []) == ""
    assert "expected string" in difference(one, one.set_column(1, "n", pa.array(["1", "2"])), [])
    assert difference(one, one.set_column(1, "n", pa.array([1.0, 2.0])), []) == ""
    assert order_of("SELECT a, b FROM t ORDER BY 2 DESC, a") == ["b", "a"]


def test_the_whole_is_printed_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "RESULTS", tmp_path / "corpus.json")
    found = [
        Verdict(asked("SELECT 1"), RIGHT),
        Verdict(asked("SELECT 2"), WRONG, "It differs."),
    ]
    monkeypatch.setattr(corpus, "verdicts", lambda chosen: iter(found[: 1 if chosen else 2]))
    assert corpus.main(["census"]) == 0
    assert corpus.main([]) == 1
    assert '"wrong": 1' in (tmp_path / "corpus.json").read_text()
