"""Answers that were sent are found again by those who were sent them, and by nobody else."""

from __future__ import annotations

import pytest

from discreet.release.documents import AnswerText
from discreet.server.records import sent
from discreet.server.records.sent import Sent

ASKED = {"query": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1", "confidence": 0.95}
OLD, NEW = ("visits 1",), ("visits 2",)
TOLD = AnswerText('{"question": "…", ', '"rows": [{"n": 3}]')


def test_an_answer_is_for_those_who_were_sent_it_and_for_the_very_question() -> None:
    kept = Sent()
    kept.keep("hospital", ASKED, "ana", OLD, TOLD)
    found = kept.find("hospital", dict(reversed(ASKED.items())), "ana")
    assert found is not None
    assert (found.versions, found.told) == (OLD, TOLD)
    assert kept.find("hospital", ASKED, "ben") is None
    assert kept.find("school", ASKED, "ana") is None
    for name in ASKED:
        assert kept.find("hospital", {**ASKED, name: "another"}, "ana") is None
    kept.keep("hospital", ASKED, "ben", OLD, TOLD)
    assert kept.find("hospital", ASKED, "ben") == found


def test_an_answer_about_new_data_is_for_none_of_those_who_were_sent_the_old_one() -> None:
    kept = Sent()
    kept.keep("hospital", ASKED, "ana", OLD, TOLD)
    kept.keep("hospital", ASKED, "ben", NEW, TOLD)
    assert kept.find("hospital", ASKED, "ana") is None
    found = kept.find("hospital", ASKED, "ben")
    assert found is not None
    assert found.versions == NEW


def test_the_latest_answers_are_kept_and_no_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent, "LONGEST", 60)
    told = AnswerText("x" * 20, "y" * 30)
    kept = Sent(most=100)
    for number in range(3):
        kept.keep("hospital", {"query": number}, "ana", OLD, told)
        kept.find("hospital", {"query": 0}, "ana")
    assert [kept.find("hospital", {"query": n}, "ana") is not None for n in range(3)] == [True, False, True]
    kept.keep("hospital", {"query": 3}, "ana", OLD, AnswerText("x" * 61, ""))
    assert kept.find("hospital", {"query": 3}, "ana") is None
    assert kept.find("hospital", {"query": 2}, "ana") is not None
