"""Answers of any number of groups in the same memory: noise, post-processing and intervals block by block.

The engine sorts its sums by the number of the group and hands them over in pieces. Each block of groups is filled
with zeros, then with the sums of those that have rows, and then all of it gets its noise, before anything of it leaves
`noisy_blocks`. All use of the noisy blocks is post-processing: block by block where each row of the answer comes
from one group, else by a DuckDB that spills into a private folder.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from discreet import arrow
from discreet.arrow import plain
from discreet.engines.engine import Engine, in_batches
from discreet.errors import EngineError
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from discreet.release.draw import Draw
from discreet.release.noisy_schema import CELL, aggregate_name, aggregate_number
from discreet.sql.algebra import keys as ks
from discreet.sql.finish.answered import AnswerColumns
from discreet.sql.finish.nested import gathered, noise_in, spread
from discreet.sql.finish.postprocess import around, as_it_is, finish
from discreet.sql.finish.serialisation import blocks_of
from discreet.sql.intervals.closed_form import direct
from discreet.sql.intervals.lazy import LazyMapping
from discreet.sql.intervals.monotone import monotone_in, monotone_intervals
from discreet.sql.intervals.row_identity import identified_in
from discreet.sql.intervals.row_mapping import aggregate_columns, key_columns, shared_with_cell, with_cell
from discreet.sql.intervals.simulation.simulated import Interval, simulated_intervals
from discreet.sql.intervals.simultaneous import each, numbers
from discreet.sql.lower.compile import compile_part
from discreet.sql.lower.uses import use_of
from discreet.sql.measures.quantile_tree import QuantileTree
from discreet.sql.measures.ranks import Ranks
from discreet.sql.plan.plan import PlannedRelease, QueryPlan
from discreet.sql.syntax.nodes import used

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.engines.spilling import Spilling

    Integers = NDArray[np.int64]

NUMBERS = 1 << 17
"""How many integers are worked on at a time."""
MOST_KEPT = 110_000_000
"""The most integers of one answer: the ledger keeps at most 10^9 bytes in one piece, and one may take 8 of them."""


def integers(plan: QueryPlan) -> int:
    """The number of noisy integers of an answer."""
    return sum(release.cells * sum(m.entries for m in release.measures) for release in plan.releases)


def noisy_blocks(
    release: PlannedRelease, part: int, engine: Engine, salt: int, draw: Draw
) -> Iterator[Integers]:
    """The noisy integers of one part of a release, block by block, for all its groups, independent of the data.

    Privacy: each measure of the part is released by its own mechanism, as in `run.run_release`: every group gets noise
    of its own once, also one without rows, and no sum leaves here without it.

    Args:
        release: the plan; its keys are public.
        part: the number of the part.
        engine: runs it.
        salt: decides which rows of a unit are kept.
        draw: the noise of its uses.

    Yields:
        int64 arrays (groups, entries of the part), the groups in the order of their numbers.

    Raises:
        EngineError: the engine failed; the charge stays.
    """
    measures = [(index, m) for index, m in enumerate(release.measures) if m.part == part]
    for block in _exact(release, part, engine, salt):
        if isinstance(block, SparseCounts):
            ((index, _),) = measures
            yield draw(use_of(release, index), block)
            continue
        start = 0
        for index, measure in measures:
            own = slice(start, start + measure.entries)
            block[:, own] = draw(use_of(release, index), block[:, own])
            start += measure.entries
        yield block


def _exact(
    release: PlannedRelease, part: int, engine: Engine, salt: int
) -> Iterator[Integers | SparseCounts]:
    """The integers before any noise, or the counts by leaf before the choice. Never shown, logged or raised."""
    compiled = compile_part(release, part, engine.dialect, salt, quick=True)
    measures = [m for m in release.measures if m.part == part]
    width = sum(m.entries for m in measures)
    size = max(1, NUMBERS // sum(m.entries for m in release.measures))
    quantiles = measures[0] if isinstance(measures[0], QuantileTree | Ranks) else None  # alone in its part
    pieces = in_batches(engine, compiled.sql, "cell", compiled.tables)
    rows = _Sorted(pieces, 1 + width if quantiles is None else 3)
    for start in range(0, release.cells, size):
        stop = min(start + size, release.cells)
        found = rows.below(stop)
        cell = found[:, 0] - start
        if isinstance(quantiles, Ranks):
            yield SparseCounts.of(stop - start, quantiles.grid.levels, cell, found[:, 1], found[:, 2])
            continue
        if quantiles is not None:
            yield quantiles.from_leaves(stop - start, cell, found[:, 1], found[:, 2])
            continue
        block = np.zeros((stop - start, width), np.int64, order="F")
        block[cell] = found[:, 1:]
        yield block


class _Sorted:
    """Rows that come in pieces, in the order of their first column."""

    def __init__(self, pieces: Iterator[pa.Table], width: int) -> None:
        self._pieces = pieces
        self._width = width
        self._rest: Integers | None = None
        self._last = 0

    def below(self, stop: int) -> Integers:
        """The next rows whose first column is below a number: int64 array (n, columns)."""
        taken: list[Integers] = []
        while (rest := self._next()) is not None:
            found = int(np.searchsorted(rest[:, 0], stop))
            taken.append(rest[:found])
            if found < len(rest):
                self._rest = rest[found:]
                break
            self._rest = None
        return np.concatenate(taken) if taken else np.zeros((0, self._width), np.int64)

    def _next(self) -> Integers | None:
        if self._rest is not None:
            return self._rest
        piece = next(self._pieces, None)
        if piece is None:
            return None
        rows = np.stack([arrow.numbers(column) for column in piece.itercolumns()], axis=1)
        order = np.concatenate([[self._last], rows[:, 0]])
        if (np.diff(order) < 0).any():
            raise EngineError(
                "The engine returned groups out of order.",
                "This is a fault of discreet; please report it with the query.",
            )
        self._last = int(order[-1])
        return rows


def answers(
    plan: QueryPlan,
    kept: zipfile.ZipFile,
    public: Mapping[str, pa.Table],
    confidence: float,
    folder: Path,
    together: bool = False,
) -> Iterator[AnswerColumns]:
    """The answer in pieces, at least one; each has the same columns.

    Args:
        plan: of the question; `many_groups.streams` is true of it.
        kept: the noisy integers, as `serialisation.Packer` wrote them.
        public: the public tables.
        confidence: of the intervals.
        folder: a private folder for noisy tables.
        together: whether all intervals together have the confidence; only where `in_groups` is true of the plan.

    Raises:
        PostProcessingError: DuckDB refused the statement; its message speaks of released numbers only.
    """
    if _by_group(plan):
        for block in blocks_of(kept, 0, plan.releases[0]):
            yield finish(plan, [block], public, confidence, together)
        return
    several = spread(plan.post)
    if several is not None:
        plan = replace(plan, post=several.post)
    if together:
        confidence = each(confidence, numbers(plan, len(plan.post.selects)))
    for answered in _spilled(plan, kept, public, confidence, folder, together):
        yield answered if several is None else gathered(answered, several)


def in_groups(plan: QueryPlan) -> bool:
    """Whether each row of an answer is one group, so that the number of its numbers is known beforehand."""
    return shared_with_cell(plan)[1]


def _by_group(plan: QueryPlan) -> bool:
    """Whether each row of an answer comes from one group alone, and rows have no other order than groups have."""
    post, has_cell = shared_with_cell(plan)
    if not has_cell or any(v for k, v in post.args.items() if k not in ("expressions", "from_", "where")):
        return False
    found = identified_in(plan, {})
    if found is None or found.chosen:
        return False  # how many rows are shown in all decides how wide their intervals are
    others = (exp.Window, exp.Query, exp.AggFunc, exp.UDTF)
    return not any(isinstance(node, others) for node in post.walk() if node is not post)


def _spilled(
    plan: QueryPlan,
    kept: zipfile.ZipFile,
    public: Mapping[str, pa.Table],
    confidence: float,
    folder: Path,
    together: bool,
) -> Iterator[AnswerColumns]:
    """The answer by SQL over noisy tables in files. The integers of a group go along for the intervals of its row."""
    from discreet.engines.spilling import Spilling

    post, has_cell = with_cell(plan)
    release = plan.releases[0]
    shown, further, under, wanted = _beside(plan, has_cell)
    extra = sorted({name for names in wanted.values() for name in names})
    beside = {f"__a{index}": aggregate_name(index) for index in sorted(under)}
    if extra:
        assert isinstance(post, exp.Select)
        for name, column in {**{name: name for name in extra}, **beside}.items():
            post.append("expressions", exp.alias_(exp.column(column, table=release.name), name))
    files = {
        scope.name: _file(kept, number, scope, extra, folder / f"{number}.parquet")
        for number, scope in enumerate(plan.releases)
    }
    without: tuple[str, ...] | None = None
    spill = folder / "spill"
    spill.mkdir(mode=0o700)
    read = used(public, plan.post)
    found = identified_in(plan, read)
    with Spilling(files, read, spill) as box:
        if not together and found is not None and found.chosen:
            from discreet.sql.intervals.bands.banded import banded

            confidence = banded(plan, found, read).selected(confidence, _count(box, post))
        for piece in box.run(post.sql("duckdb")):
            table = plain(piece)
            hidden = (CELL, *extra, *beside)
            values = table.drop_columns([name for name in hidden if name in table.column_names])
            makers = {
                name: partial(
                    _ends, release, index, table.column(name), table.select(wanted[index]), confidence
                )
                for name, index in shown.items()
            }
            more = _further(further, release, table, wanted, confidence) if further else {}
            makers.update({name: partial(as_it_is, pair) for name, pair in more.items()})
            if without is None:
                known = {*shown, *more} | (key_columns(plan) if has_cell else set())
                rest = [name for name in values.column_names if name not in known]
                _, without = simulated_intervals(plan, (), read, values, found, None, rest, confidence)
                nested = [name for name in rest if arrow.is_nested(values, name)]
                without += tuple(name for name in nested if noise_in(plan.post, name))
            yield AnswerColumns(values, LazyMapping(makers), without)


def _beside(
    plan: QueryPlan, has_cell: bool
) -> tuple[Mapping[str, int], dict[str, exp.Expr], set[int], dict[int, list[str]]]:
    """The columns that go along for the intervals of rows that are groups.

    Returns:
        The columns that are exactly an aggregate, those that are monotone in one, the aggregates behind these, and
        the columns of integers that each aggregate is estimated from.
    """
    shown = aggregate_columns(plan) if has_cell else {}
    release = plan.releases[0]
    further = {
        item.alias_or_name: item.unalias()
        for item in (plan.post.selects if has_cell else [])
        if item.alias_or_name not in shown and monotone_in(item.unalias(), release.name)
    }
    named = (monotone_in(item, release.name) for item in further.values())
    under = {number for name in named if name and (number := aggregate_number(name)) is not None}
    wanted: dict[int, list[str]] = {}
    for index in under.union(shown.values()):
        place = release.entries[release.aggregates[index].measure]
        wanted[index] = [f"__e{entry}" for entry in range(place.start, place.stop)]
    return shown, further, under, wanted


def _count(box: Spilling, post: exp.Query) -> int:
    """How many rows a statement shows."""
    query = exp.select("COUNT(*)").from_(
        exp.Subquery(this=post.copy(), alias=exp.TableAlias(this=exp.to_identifier("__shown")))
    )
    return sum(int(arrow.numbers(piece.column(0)).sum()) for piece in box.run(query.sql("duckdb")))


def _further(
    items: Mapping[str, exp.Expr],
    release: PlannedRelease,
    table: pa.Table,
    wanted: Mapping[int, list[str]],
    confidence: float,
) -> dict[str, Interval]:
    """The intervals of columns that are monotone in one aggregate."""
    cells = arrow.numbers(table.column(CELL))

    def ends(index: int) -> Interval:
        return _ends(release, index, table.column(f"__a{index}"), table.select(wanted[index]), confidence)

    moments = {name for name in items if arrow.is_moment(table, name)}
    return monotone_intervals(
        items, release.name, lambda keys: ks.columns_of(release.keys, cells, keys), ends, moments
    )


def _file(kept: zipfile.ZipFile, number: int, release: PlannedRelease, extra: list[str], path: Path) -> Path:
    """A noisy table as a Parquet file, with some of its integers beside the estimates from them."""
    from pyarrow import parquet

    writer = None
    try:
        for block in blocks_of(kept, number, release):
            table = block.table()
            for name in extra:
                table = table.append_column(name, arrow.column(block.entries[:, int(name[3:])]))
            writer = writer or parquet.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    return path


def _ends(
    release: PlannedRelease, index: int, shown: pa.ChunkedArray, entries: pa.Table, confidence: float
) -> Interval:
    values = arrow.floats(shown)
    integers = np.zeros((len(values), entries.num_columns))
    for place, column in enumerate(entries.itercolumns()):
        integers[:, place] = arrow.numbers(column)
    return around(values, direct(release, release.aggregates[index], integers, values, confidence))
