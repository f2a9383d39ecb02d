"""An automaton, of a pattern or of the simpler one, tells what DuckDB tells."""

from __future__ import annotations

import random

import duckdb
from tests.depth import examples
from tests.sql.functions.regular import samples

from discreet.sql.functions.regular.anywhere import simpler
from discreet.sql.functions.regular.automaton import automaton
from discreet.sql.functions.regular.tree import Edge, Node, Sequence, parse


def faults(simplified: object = simpler) -> int:
    """In how many texts DuckDB tells something else."""
    made, found = random.Random(11), 0
    texts = samples.texts(made, 60)
    duck = duckdb.connect()
    for _ in range(examples(150, 5000)):
        pattern = samples.pattern(made)
        sql = "SELECT regexp_matches(c, ?) FROM (SELECT unnest(?) AS c)"
        expected = [row[0] for row in duck.execute(sql, [pattern, texts]).fetchall()]
        for tree in (parse(pattern), simplified(parse(pattern))):  # type: ignore[operator]
            read = automaton(tree)
            assert read is not None
            found += sum(read.reads(text) != value for text, value in zip(texts, expected, strict=True))
    return found


def test_it_tells_what_duckdb_tells() -> None:
    assert faults() == 0


def test_another_pattern_is_found_out() -> None:
    """The planted fault: a part at the beginning is left out that may be empty at the beginning of a text alone."""

    def wrong(tree: Node) -> Node:
        return (
            Sequence(tree.parts[1:])
            if isinstance(tree, Sequence) and isinstance(tree.parts[0], Edge)
            else tree
        )

    assert faults(wrong)


def test_one_that_is_too_large_is_none() -> None:
    assert automaton(parse("(a|b)*a(a|b){20}$")) is None
