"""Every field of an entry is under its hash, and no two different entries have the same."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest

from discreet.accounting.loss import Loss
from discreet.errors import InvalidParameter
from discreet.ledger.chain.entry import Account, Entry, Posting, digest_of, genesis, make_entry, sealed, text

LINE = Posting("a", Loss("0.1"), Loss("0.3"), Loss(1), "pure", Fraction(1, 20), 2)
ENTRY = make_entry(
    genesis("00"), "charge", "count", totals="t", postings=[LINE], guarantee="{}", event="e", description="d",
    time=datetime(2024, 1, 1, tzinfo=UTC),
)  # fmt: skip
CHANGED: dict[str, Any] = {
    "number": 2, "time": ENTRY.time + timedelta(microseconds=1), "kind": "adopt", "question": "count ", "settles": 1,
    "digest": "x", "guarantee": "{} ", "event": "", "description": "e", "totals": "u", "previous": "p",
    "postings": (LINE, LINE),
}  # fmt: skip
CHANGED_LINE: dict[str, Any] = {
    "account": "b", "loss": Loss("0.2"), "total": Loss("0.3", "1e-9"), "limit": Loss(2), "rule": "zcdp",
    "squares": Fraction(1, 21), "count": 3,
}  # fmt: skip


def altered(entry: Entry, **fields: Any) -> bool:
    return not sealed(dataclasses.replace(entry, **fields))


def test_a_made_entry_is_sealed_and_follows() -> None:
    assert sealed(ENTRY)
    assert (ENTRY.number, ENTRY.previous) == (1, genesis("00").hash)
    assert genesis("00") != genesis("01")


def test_every_field_is_tried() -> None:
    assert {field.name for field in dataclasses.fields(Entry)} == {*CHANGED, "hash"}
    assert {field.name for field in dataclasses.fields(Posting)} == set(CHANGED_LINE)


@pytest.mark.parametrize("name", CHANGED)
def test_a_field_that_is_altered_breaks_the_seal(name: str) -> None:
    assert altered(ENTRY, **{name: CHANGED[name]})


@pytest.mark.parametrize("name", CHANGED_LINE)
def test_a_posting_that_is_altered_breaks_the_seal(name: str) -> None:
    line = dataclasses.replace(LINE, **{name: CHANGED_LINE[name]})
    assert altered(ENTRY, postings=(line,))


def test_text_cannot_move_from_one_field_to_the_next() -> None:
    assert altered(ENTRY, guarantee="{}e", event="")
    assert altered(ENTRY, question="coun", digest="t")


@pytest.mark.parametrize("value", ["", None, 3, "a\0b", "\ud800"])
def test_a_text_that_cannot_be_stored_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameter, match="The question"):
        text("The question", value)
    assert text("The guarantee", "", empty=True) == ""


@pytest.mark.parametrize(
    ("name", "rule", "limit"),
    [("", "pure", Loss(1)), ("a" * 201, "pure", Loss(1)), ("a\nb", "pure", Loss(1)), ("a", "zcdp", Loss(1)),
     ("a", "sum", Loss(1, "1e-9"))],
)  # fmt: skip
def test_an_account_that_cannot_be_kept_is_refused(name: str, rule: Any, limit: Loss) -> None:
    with pytest.raises(InvalidParameter):
        Account(name, limit, rule)


def test_a_digest_is_that_of_all_pieces() -> None:
    assert digest_of(b"answer") == digest_of([b"ans", b"", b"wer"]) != digest_of(b"answers")
