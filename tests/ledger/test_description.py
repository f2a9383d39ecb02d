"""The description of a charge is one line, in which no part of the question looks like a comment."""

from __future__ import annotations

import pytest

from discreet.ledger.description import described, who_and_what


def test_a_comment_of_a_described_question_ends_where_its_line_ended() -> None:
    asked = "SELECT county, -- of */ residence\n'a--b' AS \"x--\", /* why -- */ COUNT(*)\nFROM visits -- all"
    _, what = who_and_what(described(asked))
    assert what == (
        "SELECT county, /* of * / residence */ 'a--b' AS \"x--\", /* why -- */ COUNT(*) FROM visits /* all */"
    )


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("a -- b\r WHERE x", "a /* b */ WHERE x"),
        ("a /* b /* c */ -- d */ WHERE x", "a /* b / * c * / -- d */ WHERE x"),
        ("a <> $$'$$ -- b'\n AND x", "a <> $$'$$ /* b' */ AND x"),
        ("a <> $b$ -- $b$ AND x", "a <> $b$ -- $b$ AND x"),
        (r"a <> E'\' -- ' AND x", r"a <> E'\' -- ' AND x"),
        ("a {# b #} AND x", "a /* {# b #} */ AND x"),
        ("a -- b\nof '", "a -- b of '"),
    ],
)
def test_no_part_of_a_described_question_looks_like_a_comment(asked: str, shown: str) -> None:
    """Nor does the parser take it for one; the last is no SQL, and no comment either."""
    _, what = who_and_what(described(asked))
    assert what == shown


def test_a_comment_that_names_the_beginning_of_another_begins_none() -> None:
    """PostgreSQL and DuckDB nest comments: the rest of the question would be one."""
    _, what = who_and_what(described("SELECT 1 -- /* once\nFROM t"))
    assert what == "SELECT 1 /* / * once */ FROM t"


def test_a_description_is_one_line() -> None:
    who, what = who_and_what(described("SELECT\n 1 \t" + "x" * 9000))
    assert who
    assert what.startswith("SELECT 1 x")
    assert len(what) == 4000
