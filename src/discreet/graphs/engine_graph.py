"""A graph whose edges stay in their engine, which counts in them; nothing but integers leaves it.

Vertices and edges are those of `discreet.graphs.reading`: each pair of different names once, as often as it stands
there, and where the vertices are listed only pairs of them. The engine joins and groups on its own disks, so that this
process holds no more than a number for each degree that occurs, of which a graph of m edges has fewer than 2 sqrt(m).

Triangles: edges are directed from the end of lesser degree, as in `discreet.graphs.counts`, so the join of edges that
leave a vertex has at most m sqrt(2 m) rows. Common neighbours: the same search, a query for each step. Components:
large stars and small stars by turns (Kiveris, Lattanzi, Mirrokni, Rastogi and Vassilvitskii 2014): either keeps all
connections, and when nothing but stars is left, their rays are the edges of a spanning forest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from discreet.engines.capabilities import Spelling
from discreet.engines.engine import NO_TABLES
from discreet.graphs import counts

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.engines.engine import Engine

_LISTED: Final = "discreet_vertices"
_STATE: Final = "discreet_stars"
_WIDE: Final = 46_340
"""A hub of more neighbours counts as one of so many, about, where that only makes a search slower."""

_PAIRS: Final = """\
pairs AS (SELECT DISTINCT CASE WHEN a < b THEN a ELSE b END AS low, CASE WHEN a < b THEN b ELSE a END AS high
          FROM (SELECT {first} AS a, {second} AS b FROM {table} WHERE {x} IS NOT NULL AND {y} IS NOT NULL) AS ends
          WHERE a <> b{known})"""
_DEGREES: Final = """\
sides AS (SELECT low AS u, high AS v FROM pairs UNION ALL SELECT high AS u, low AS v FROM pairs),
degrees AS (SELECT u AS name, COUNT(*) AS d FROM sides GROUP BY u)"""
_UPWARD: Final = """\
placed AS (SELECT low, high, x.d AS d, y.d AS e
           FROM pairs JOIN degrees AS x ON x.name = low JOIN degrees AS y ON y.name = high),
upward AS (SELECT CASE WHEN d <= e THEN low ELSE high END AS a, CASE WHEN d <= e THEN high ELSE low END AS b
           FROM placed)"""
_SPOKES: Final = """\
heavy AS (SELECT name FROM degrees WHERE d > {bound}),
spokes AS (SELECT u AS hub, v AS spoke FROM sides JOIN heavy ON heavy.name = v)"""
_LARGE_STARS: Final = """\
sides AS (SELECT a AS u, b AS v FROM {0} UNION ALL SELECT b AS u, a AS v FROM {0}),
least AS (SELECT u AS w, CASE WHEN MIN(v) < u THEN MIN(v) ELSE u END AS m FROM sides GROUP BY u),
large AS (SELECT DISTINCT v AS a, m AS b FROM sides JOIN least ON w = u WHERE v > u)"""
_SMALL_STARS: Final = """\
lesser AS (SELECT a AS w, MIN(b) AS m FROM large GROUP BY a)
SELECT b AS a, m AS b FROM large JOIN lesser ON w = a WHERE b <> m UNION SELECT w AS a, m AS b FROM lesser"""


class EngineGraph:
    """Edges in a table of an engine; all of it is secret.

    Args:
        engine: has the table.
        table: its name.
        columns: the two ends, as the schema names them.
        whole: which of them hold integers; the others hold texts.
        vertices: the public names, or None for all names that occur.
    """

    def __init__(self, engine: Engine, table: str, columns: Sequence[str], whole: Sequence[bool],
                 vertices: list[Any] | None) -> None:  # fmt: skip
        self._engine, self._vertices, self._whole = engine, vertices, all(whole)
        self._given = (engine, table, columns, whole, vertices)
        spelling = spelling_of(engine)
        table, x, y = (spelling.quote(name) for name in (table, *columns))
        first, second = (column if self._whole else spelling.text.format(column) for column in (x, y))
        self._pairs = _PAIRS.format(first=first, second=second, x=x, y=y, table=table, known=self._known)

    @property
    def _known(self) -> str:
        """The condition that both ends are listed."""
        if self._vertices is None:
            return ""
        if self._run is not None:
            low, high = self._run
            return f" AND a BETWEEN {low} AND {high} AND b BETWEEN {low} AND {high}"
        return f" AND a IN (SELECT name FROM {_LISTED}) AND b IN (SELECT name FROM {_LISTED})"

    @cached_property
    def _run(self) -> tuple[int, int] | None:
        """The ends of the names, where these are integers in a row."""
        names = self._vertices or []
        if not self._whole or not all(type(name) is int and abs(name) < 1 << 62 for name in names):
            return None
        return (min(names), max(names)) if max(names) - min(names) == len(names) - 1 else None

    @cached_property
    def _tables(self) -> Mapping[str, pa.Table]:
        """The public names, where they are no run of integers."""
        from discreet.graphs.reading import listed

        if self._vertices is None or self._run is not None:
            return NO_TABLES
        import pyarrow as pa

        return {_LISTED: pa.table({"name": listed(self._vertices, self._whole).drop_null()})}

    def query(self, select: str, *parts: str) -> str:
        """A statement over the pairs and some parts after them."""
        return f"SELECT * FROM (WITH {', '.join((self._pairs, *parts))}\n{select}) AS counted"

    def integers(self, select: str, *parts: str) -> dict[str, list[int]]:
        """The integers of a statement, by column."""
        found: dict[str, list[int]] = self._engine.integers(
            self.query(select, *parts), self._tables
        ).to_pydict()
        return found

    def anew(self) -> EngineGraph:
        """The same graph with nothing remembered: the table may have changed since an earlier question."""
        return EngineGraph(*self._given)

    def see_countable(self) -> bool:
        """Whether the engine could count, as far as that is known without reading a row."""
        look: Callable[..., bool] | None = getattr(self._engine, "probe", None)
        return look is None or look(self.query(_BY_DEGREE, _DEGREES), self._tables)

    @cached_property
    def degree_numbers(self) -> Mapping[int, int]:
        """By degree, how many vertices have it, without those that have no edge."""
        found = self.integers(_BY_DEGREE, _DEGREES)
        return dict(zip(found["d"], found["n"], strict=True))

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return sum(degree * many for degree, many in self.degree_numbers.items()) // 2

    def spokes(self, bound: int) -> tuple[str, str]:
        """The parts of a statement over the neighbours of degree above a bound of each vertex."""
        return _DEGREES, _SPOKES.format(bound=bound)

    def rays(self) -> int:
        """How many rays there are where the graph is made into stars.

        Raises:
            EngineError: the engine failed.
        """
        start = self.query("SELECT high AS a, low AS b FROM pairs")
        step = f"WITH {_LARGE_STARS.format(_STATE)}, {_SMALL_STARS}"
        left = (
            f"SELECT (SELECT COUNT(*) FROM {_STATE} AS x JOIN {_STATE} AS y ON x.b = y.a) "
            f"+ (SELECT COUNT(*) - COUNT(DISTINCT a) FROM {_STATE}) AS n"
        )
        return int(self._engine.settled(_STATE, start, step, left, self._tables))  # type: ignore[attr-defined]


_BY_DEGREE: Final = (
    "SELECT CAST(d AS BIGINT) AS d, CAST(COUNT(*) AS BIGINT) AS n FROM degrees GROUP BY CAST(d AS BIGINT)"
)


def spelling_of(engine: Engine) -> Spelling:
    """How an engine writes names; one that does not say writes them as the standard does."""
    found = getattr(engine, "spelling", None)
    return found if isinstance(found, Spelling) else Spelling()


def finds_components(engine: Engine) -> bool:
    """Whether an engine can repeat a statement until nothing changes, as components need it."""
    return hasattr(engine, "settled")


@counts.triangles.register
def _(graph: EngineGraph) -> int:
    select = (
        "SELECT CAST(COUNT(*) AS BIGINT) AS n FROM upward AS x JOIN upward AS y ON x.a = y.a "
        "JOIN pairs AS z ON z.low = x.b AND z.high = y.b WHERE x.b < y.b"
    )
    return graph.integers(select, _DEGREES, _UPWARD)["n"][0]


@counts.common.register
def _(graph: EngineGraph) -> int:
    best, bound = 0, counts.widest(graph)
    while bound > best:
        bound = max(best, bound // 2)
        heavy = sum(many for degree, many in graph.degree_numbers.items() if degree > bound)
        joined = graph.integers(
            f"SELECT CAST(COALESCE(SUM(CASE WHEN h > {_WIDE} THEN {_WIDE**2} ELSE h * (h - 1) END), 0) AS BIGINT) AS n "
            "FROM (SELECT COUNT(*) AS h FROM spokes GROUP BY hub) AS hubs",
            *graph.spokes(bound),
        )["n"][0]
        best = max(best, -(-(joined // 2) // max(1, math.comb(heavy, 2))))
        bound = max(bound, best)
        most = graph.integers(
            "SELECT CAST(COALESCE(MAX(n), 0) AS BIGINT) AS n FROM (SELECT COUNT(*) AS n FROM spokes AS x "
            "JOIN spokes AS y ON x.hub = y.hub WHERE x.spoke < y.spoke GROUP BY x.spoke, y.spoke) AS found",
            *graph.spokes(bound),
        )["n"][0]
        best = max(best, most)
    return best


@counts.end_products.register
def _(graph: EngineGraph) -> int:
    select = (
        "SELECT CAST(d AS BIGINT) AS d, CAST(SUM(e) AS BIGINT) AS n FROM placed GROUP BY CAST(d AS BIGINT)"
    )
    found = graph.integers(select, _DEGREES, _UPWARD)
    return sum(degree * many for degree, many in zip(found["d"], found["n"], strict=True))


@counts.merges.register
def _(graph: EngineGraph) -> int:
    return graph.rays()
