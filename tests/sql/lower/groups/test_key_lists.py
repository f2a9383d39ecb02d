"""Short lists of keys are made once, and two lists that differ in anything are two lists."""

from __future__ import annotations

import itertools

import pytest

from discreet.engines.schema import Type
from discreet.sql.algebra.keys import Key
from discreet.sql.expressions.expression import Column
from discreet.sql.expressions.span import Span, Value
from discreet.sql.lower.groups import key_lists
from discreet.sql.lower.groups.key_lists import digest_of, key_list

LISTS: list[tuple[Type, tuple[Value | None, ...]]] = [
    (Type.TEXT, ("a", "b")), (Type.TEXT, ("b", "a")), (Type.TEXT, ("a", None)), (Type.TEXT, ("1", "0")),
    (Type.INTEGER, (1, 0)), (Type.INTEGER, (1, None)), (Type.FLOAT, (1.0, 0.0)), (Type.FLOAT, (1.0, -0.0)),
    (Type.BOOLEAN, (True, False)), (Type.INTEGER, tuple(range(key_lists.MOST_ROWS + 1))),
]  # fmt: skip


def key(kind: Type, values: tuple[Value | None, ...]) -> Key:
    return Key(Column("c", kind, Span()), values)


def see_all_apart() -> None:
    for _ in range(2):
        found = [key_list(((0, key(*one)),)) for one in LISTS]
        assert [table["key0"].to_pylist() for table in found] == [list(values) for _, values in LISTS]
        assert all(table["at"].to_pylist() == list(range(len(table))) for table in found)
        assert len({digest_of(table) for table in found}) == len(LISTS)
        for one, other in itertools.combinations(found, 2):
            assert (
                not (one.schema.equals(other.schema) and one.equals(other)) or -0.0 in one["key0"].to_pylist()
            )


def test_lists_that_differ_are_not_taken_for_each_other() -> None:
    see_all_apart()


def test_zeros_that_are_taken_for_each_other_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: floats are known by their values, of which 0.0 and -0.0 are equal."""
    monkeypatch.setattr(key_lists, "_EXACT", tuple(Type))
    with pytest.raises(AssertionError):
        see_all_apart()


def test_a_short_list_is_made_once_and_its_number_counts() -> None:
    made = [key_list(((at, key(Type.TEXT, ("x", "y", "z"))),)) for at in (0, 0, 1)]
    assert made[0] is made[1]
    assert made[2].column_names == ["key1", "at"]


def test_a_digest_is_that_of_its_table_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_lists, "MOST", 2)
    digests = [
        digest_of(key_list(((0, key(Type.INTEGER, (at, at + 2))),))) for at in [*range(100), *range(100)]
    ]
    assert digests[:100] == digests[100:]
    assert len(set(digests)) == 100
    assert len(key_lists._digests) <= 2
