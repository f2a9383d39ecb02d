"""A refusal points at its place in the text of the analyst."""

from __future__ import annotations

import re

import pytest
import sqlglot
from sqlglot import exp

from discreet.sql.syntax import refusal

TEXT = "SELECT a,\n\tCOUNT(DISTINCT b) AS n\nFROM t WHERE c > 3"


@pytest.mark.parametrize(
    ("kind", "place", "line", "column"),
    [(exp.Count, "COUNT(DISTINCT b)", 2, 2), (exp.Where, "c > 3", 3, 14), (exp.Table, "t", 3, 6)],
)
def test_the_place_of_a_node(kind: type[exp.Expr], place: str, line: int, column: int) -> None:
    node = sqlglot.parse_one(TEXT, read="duckdb").find(kind)
    refused = refusal.refuse(node, TEXT, "The cause.", "The fix.")
    assert (refused.cause, refused.fix) == ("The cause.", "The fix.")
    assert refused.place.startswith(place[:5])
    assert (refused.line, refused.column) == (line, column)
    shown, carets = refused.picture.splitlines()
    assert shown == f"  {TEXT.splitlines()[line - 1]}"
    assert carets.index("^") == 2 + column - 1


def test_a_caret_stands_below_its_letter_behind_a_tab() -> None:
    refused = refusal.refuse_at("a\tb c", 2, 3, "The cause.", "The fix.")
    assert refused.picture == "  a\tb c\n   \t^"


def test_a_place_of_several_lines_is_marked_to_the_end_of_its_first() -> None:
    refused = refusal.refuse_at("one\ntwo", 1, 7, "The cause.", "The fix.")
    assert refused.picture == "  one\n   ^^"
    assert refused.place == "ne\ntwo"


def test_a_node_without_a_place_has_no_picture() -> None:
    refused = refusal.refuse(None, TEXT, "The cause.", "The fix.")
    assert (refused.place, refused.picture) == ("", "")


def test_of_a_very_long_line_the_words_around_the_fault_are_shown() -> None:
    refused = refusal.refuse_at("a" * 9000 + "\tWRONG" + "b" * 9000, 9001, 9006, "The cause.", "The fix.")
    shown, carets = refused.picture.splitlines()
    assert shown == f"  {'a' * 59}\tWRONG{'b' * 60}"
    assert carets == f"  {' ' * 59}\t^^^^^"
    assert (refused.line, refused.column, refused.place) == (1, 9002, "WRONG")


def test_a_statement_that_a_map_or_a_model_writes_is_cut_to_the_words_around_the_fault() -> None:
    text = f"SELECT {', '.join(f'SUM(a{number}) AS m{number}' for number in range(40))} FROM data"
    refused = refusal.refuse_at(text, 100, 105, "The cause.", "The fix.")
    assert all(len(line) <= 130 for line in refused.picture.splitlines())


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("SELECT 'WITH CUBE' AS a, b WITH CUBE", 27),
        ("SELECT 'WITH CUBE' -- WITH CUBE", None),
        ("SELECT 1", None),
    ],
)
def test_words_are_found_behind_a_literal_that_has_them_too(text: str, start: int | None) -> None:
    found = refusal.match_at_token(re.compile("WITH CUBE"), text)
    assert (None if found is None else found.start()) == start
