"""The questions that every physical type is asked: each clause that reads a column, each measure, each relation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tests.sql.physical.totality import HUGE, NARROW, TOP, WIDE, Probe

from discreet.engines.schema import Type

NUMBERS = (Type.INTEGER, Type.FLOAT)
READABLE = tuple(kind for kind in Type if kind.single)
EVERY = tuple(Type)

Write = Callable[[Sequence[str]], str]


def _each(items: str, rest: str = "FROM t") -> Write:
    """SELECT with some items for each column, which stands in for x; # is its place."""

    def write(columns: Sequence[str]) -> str:
        listed = [items.replace("{x}", column).replace("#", str(at)) for at, column in enumerate(columns)]
        return f"SELECT {', '.join(listed)} {rest}"

    return write


def _inner(outer: str, inner: str, rest: str, head: str = "u") -> Write:
    """The same over a sub-query that has some items for each column, too."""

    def write(columns: Sequence[str]) -> str:
        below = _each(inner, rest)(columns).removeprefix("SELECT ")
        return _each(outer, f"FROM (SELECT {head}, {below}) AS s")(columns)

    return write


TWICE = "FROM (SELECT * FROM t UNION ALL SELECT * FROM t) AS d"
"""Each value of a unit two times, so that a sum of two of the largest is tried."""
MOMENTS = "SUM({x}) AS a#, AVG({x}) AS b#, VARIANCE({x}) AS c#, COUNT({x}) AS d#"
PAIRS = "CORR({x}, n) AS a#, REGR_SLOPE(n, {x}) AS b#, COVAR_POP({x}, {x}) AS c#"
TREES = "MEDIAN({x}) AS a#, MAX({x}) AS b#"
MEASURES = {
    "sums": "SUM({x}) AS a#",
    "means": "AVG({x}) AS a#",
    "moments": MOMENTS,
    "pairs": PAIRS,
    "trees": TREES,
}
"""A sum or a mean that is asked for alone is counted in the integers of the column itself."""
PER_UNIT = ("SUM({x}) AS a#, AVG({x}) AS b#, MIN({x}) AS c#, MAX({x}) AS d#, COUNT(DISTINCT {x}) AS e#, "
            "SUM({x}) FILTER (WHERE n > 2) AS f#")  # fmt: skip
OF_UNITS = ", ".join(f"SUM(clamp({letter}#, -9, 9)) AS {letter}#" for letter in "abcdef")
WINDOWS = (
    "SUM({x}) OVER (PARTITION BY u) AS a#, AVG({x}) OVER (PARTITION BY u ORDER BY id ROWS BETWEEN 1 PRECEDING AND "
    "CURRENT ROW) AS b#, SUM({x}) OVER (PARTITION BY u ORDER BY id) AS c#, "
    "MIN({x}) OVER (PARTITION BY u ORDER BY id ROWS BETWEEN CURRENT ROW AND 9223372036854775807 FOLLOWING) AS d#"
)
OF_WINDOWS = ", ".join(f"SUM(clamp({letter}#, -9, 9)) AS {letter}#" for letter in "abcd")
PLACED = (
    "lag({x}) OVER (PARTITION BY u ORDER BY {x}, id) AS a#, rank() OVER (PARTITION BY u ORDER BY {x}) AS b#"
)


def probes() -> Iterator[tuple[str, Probe]]:
    """Every question, with a name."""
    for ends in (NARROW, WIDE, TOP):
        for name, items in MEASURES.items():
            by_row = ends == NARROW and name != "pairs"
            yield f"{name}, {ends}", Probe(NUMBERS, _each(items), "row", ends, by_row=by_row)
        yield f"moments of units, {ends}", Probe(NUMBERS, _each(MOMENTS), "u", ends)
        yield f"moments of many rows, {ends}", Probe(NUMBERS, _each(MOMENTS), "u", ends, 100)
    for ends in (NARROW, WIDE, TOP, HUGE):
        yield (
            f"per unit, {ends}",
            Probe(NUMBERS, _inner(OF_UNITS, PER_UNIT, f"{TWICE} GROUP BY u"), "u", ends),
        )
        yield f"windows, {ends}", Probe(NUMBERS, _inner(OF_WINDOWS, WINDOWS, TWICE), "u", ends)
    yield "counts", Probe(READABLE, _each("COUNT({x}) AS a#, COUNT(*) FILTER (WHERE {x} IS NULL) AS b#"))
    for unit in ("row", "u"):
        yield f"distinct, {unit}", Probe(READABLE, _each("COUNT(DISTINCT {x}) AS a#"), unit)
        groups = _each("{x}, COUNT(*) AS v", "FROM t GROUP BY 1")
        yield f"groups, {unit}", Probe(READABLE, groups, unit, alone=True)
    yield "extremes per unit", Probe(
        READABLE, _inner("COUNT(a#) AS a#, COUNT(b#) AS b#, SUM(clamp(c#, 0, 9)) AS c#",
                         "MIN({x}) AS a#, MAX({x}) AS b#, COUNT(DISTINCT {x}) AS c#", "FROM t GROUP BY u"), "u"
    )  # fmt: skip
    yield (
        "places",
        Probe(
            READABLE, _inner("COUNT(a#) AS a#, SUM(clamp(b#, 0, 9)) AS b#", PLACED, "FROM t"), "u", alone=True
        ),
    )
    yield "choices", Probe(READABLE, _each(
        "COUNT(CASE WHEN n > 3 THEN {x} END) AS a#, COUNT(coalesce({x}, {x})) AS b#, COUNT(least({x}, {x})) AS c#, "
        "COUNT(*) FILTER (WHERE {x} = {x}) AS d#, COUNT(*) FILTER (WHERE {x} IS DISTINCT FROM {x}) AS e#, "
        "COUNT(nullif({x}, {x})) AS f#"))  # fmt: skip
    yield "distinct rows", Probe(READABLE, lambda columns: (
        f"SELECT COUNT(*) AS v FROM (SELECT DISTINCT u, {', '.join(columns)} FROM t) AS s"), "u")  # fmt: skip
    yield "self-join", Probe(READABLE, lambda columns: (
        f"SELECT COUNT(*) AS v FROM t AS l JOIN t AS r ON l.u = r.u AND "
        f"{' AND '.join(f'l.{c} = r.{c}' for c in columns)}"), "u")  # fmt: skip
    yield "union", Probe(EVERY, lambda columns: (
        f"SELECT {', '.join(f'COUNT({c}) AS v{at}' for at, c in enumerate(columns))} "
        "FROM (SELECT * FROM t UNION ALL SELECT * FROM t) AS s"), "u")  # fmt: skip
    yield (
        "presence",
        Probe(EVERY, _each("COUNT({x}) AS a#, COUNT(*) FILTER (WHERE {x} IS NULL) AS b#"), "row"),
    )
    yield (
        "presence per unit",
        Probe(EVERY, _inner("SUM(clamp(a#, 0, 9)) AS a#", "COUNT({x}) AS a#", "FROM t GROUP BY u"), "u"),
    )
    yield "arithmetic", Probe(NUMBERS, _each(", ".join(
        f"COUNT({form}) AS {letter}#" for letter, form in zip("abcdefghijk", (
            "{x} + {x}", "{x} - -{x}", "{x} * {x}", "-{x}", "abs({x})", "{x} // -1", "{x} % -1", "{x} / {x}",
            "{x} * {x} * {x} - {x}", "round({x}, -3)", "power({x}, 3)"), strict=True))))  # fmt: skip
