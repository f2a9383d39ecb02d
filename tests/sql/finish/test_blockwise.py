"""Block by block: the same integers as all at once, noise on every group, and nothing that the data can change."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import few

import discreet as dp
from discreet.engines.engine import in_batches
from discreet.errors import EngineError
from discreet.mechanisms.numeric import laplace_vector
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from discreet.noise import add_laplace
from discreet.release.draw import Draw
from discreet.sql.finish import blockwise as streamed
from discreet.sql.finish import many_groups
from discreet.sql.finish.blockwise import noisy_blocks
from discreet.sql.finish.serialisation import places_of
from discreet.sql.intervals.closed_form import draws_for
from discreet.sql.intervals.simulation.repeated import FEWEST
from discreet.sql.lower import run
from discreet.sql.lower.uses import uses_of
from discreet.sql.measures.ranks import Ranks
from discreet.sql.plan.plan import PlannedRelease

RNG = np.random.default_rng(0)
TABLE = pa.table({
    "u": np.arange(3000) // 3,
    "g": RNG.integers(0, 70, 3000) ** 2,
    "t": RNG.choice(["Ann", "Bob", "Eve"], 3000),
    "x": RNG.random(3000) * 9,
})  # fmt: skip
QUESTIONS = [
    "SELECT g, COUNT(*) AS n FROM data GROUP BY g",
    "SELECT t, g, AVG(x) AS m, VAR_POP(x) AS v FROM data GROUP BY t, g",
    "SELECT g, t, COUNT(*) AS n, COUNT(DISTINCT u) AS d FROM data GROUP BY g, t",
    "SELECT t, MEDIAN(x) AS m, COUNT(*) AS n FROM data GROUP BY t",
    "SELECT COUNT(*) AS n, SUM(x) AS s FROM data",
]


def protect(table: pa.Table = TABLE, **more: Any) -> dp.Session:
    return shared.protect(table, privacy_unit="u", max_rows=3, bounds={"g": (0, 4999), "x": (0, 9)},
                      keys={"t": ["Eve", "Bob", "Zoe"]}, budget=1000, **more)  # fmt: skip


def release_of(session: dp.Session, query: str, epsilon: Fraction = Fraction(1)) -> PlannedRelease:
    (release,) = inside.plan_of(session, query, epsilon).releases
    return release


def measured(release: PlannedRelease, part: int, block: Any) -> Any:
    """A block as integers, also one of counts by leaf."""
    if not isinstance(block, SparseCounts):
        return block
    (ranks,) = (one for one in release.measures if one.part == part)
    assert isinstance(ranks, Ranks)
    return ranks.from_leaves(block.groups, block.group, block.leaf, block.count)


# A deep run: each with each.
@pytest.mark.parametrize(("query", "numbers"), few(itertools.product(QUESTIONS, [200, 7000, 10**6]), 5))
def test_blocks_are_what_is_there_at_once(query: str, numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "NUMBERS", numbers)
    session = protect()
    release = release_of(session, query)
    whole = run.exact_integers(release, inside.engine_of(session), 7)
    for part, places in enumerate(places_of(release)):
        blocks = [
            measured(release, part, block)
            for block in streamed._exact(release, part, inside.engine_of(session), 7)
        ]
        assert (np.concatenate(blocks) == whole[:, places]).all()


# A deep run: each with each.
@pytest.mark.parametrize(("query", "rows"), few(itertools.product(QUESTIONS, [0, 1]), 3))
def test_the_data_decides_no_shape(query: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "NUMBERS", 1000)
    full, few = protect(), protect(TABLE.slice(0, rows))
    release = release_of(full, query)
    for part in range(len(release.parts)):
        shapes = [
            [
                block.shape
                for block in noisy_blocks(
                    release, part, inside.engine_of(session), 7, Draw(uses_of([release]))
                )
            ]
            for session in (full, few)
        ]
        assert shapes[0] == shapes[1]
        assert sum(shape[0] for shape in shapes[0]) == release.cells


def faults(blocks: Iterator[np.ndarray[Any, Any]], release: PlannedRelease) -> str:
    """What is wrong with the blocks of a count at epsilon 2^-40.

    An integer with noise of scale 2^40 is below 1,000 with a probability below 1e-9, and two are the same with one
    below 1e-12; more than one among 5,000, or a repeated block of 100, has one below 1e-9.
    """
    found = list(blocks)
    if sum(len(block) for block in found) != release.cells:
        return "groups are missing"
    noisy = np.concatenate(found)[:, 0]
    if (np.abs(noisy) < 1000).sum() > 1:
        return "no noise"
    return "the same noise twice" if len(np.unique(noisy)) < release.cells - 1 else ""


def test_every_group_of_every_block_has_noise_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "NUMBERS", 100)
    session = protect()
    release = release_of(session, QUESTIONS[0], Fraction(1, 2**40))

    def blocks() -> Iterator[np.ndarray[Any, Any]]:
        return noisy_blocks(release, 0, inside.engine_of(session), 7, Draw(uses_of([release])))

    assert faults(blocks(), release) == ""
    # planted: a block without noise, one draw for all blocks, groups with rows alone
    add, count = add_laplace, 0

    def forgetful(values: Any, scale: Fraction) -> Any:
        nonlocal count
        count += 1
        return values if count == 3 else add(values, scale)

    monkeypatch.setattr(laplace_vector, "add_laplace", forgetful)
    assert faults(blocks(), release) == "no noise"
    once = add(np.zeros((100, 1), np.int64), release.scale(0))
    monkeypatch.setattr(laplace_vector, "add_laplace", lambda values, scale: values + once[: len(values)])
    assert faults(blocks(), release) == "the same noise twice"
    monkeypatch.setattr(laplace_vector, "add_laplace", add)
    exact: Any = streamed._exact
    monkeypatch.setattr(streamed, "_exact", lambda *args: (block[block[:, 0] > 0] for block in exact(*args)))
    assert faults(blocks(), release) == "groups are missing"


class Plain:
    """An engine that cannot hand over its result in pieces, and that sorts nothing."""

    dialect = "duckdb"

    def __init__(self, engine: Any) -> None:
        self.integers = engine.integers


def test_an_engine_without_batches_gives_the_same() -> None:
    session = protect()
    release = release_of(session, QUESTIONS[1])
    engine: Any = Plain(inside.engine_of(session))
    for number in range(len(release.parts)):
        blocks = [
            np.concatenate(list(streamed._exact(release, number, one, 7)))
            for one in (engine, inside.engine_of(session))
        ]
        assert (blocks[0] == blocks[1]).all()


def test_groups_out_of_order_are_found() -> None:
    session = protect()
    release = release_of(session, QUESTIONS[0])

    class Unsorted(Plain):
        def batches(self, sql: str, tables: Any, rows: int) -> Iterator[pa.Table]:
            result = self.integers(sql, tables)
            yield result.slice(5)
            yield result.slice(0, 5)

    engine: Any = Unsorted(inside.engine_of(session))
    with pytest.raises(EngineError, match="out of order"):
        list(streamed._exact(release, 0, engine, 7))


def test_pieces_come_in_order_and_are_integers() -> None:
    engine = inside.engine_of(protect())
    sql = "SELECT CAST(g AS BIGINT) AS cell, COUNT(*) AS m0 FROM data GROUP BY g"
    pieces = list(in_batches(engine, sql, "cell", rows=8))
    cells = [cell for piece in pieces for cell in piece.column("cell").to_pylist()]
    assert cells == sorted(set(TABLE.column("g").to_pylist()))
    with pytest.raises(EngineError, match="other than integers"):
        list(in_batches(engine, "SELECT t AS cell FROM data", "cell"))
    with pytest.raises(EngineError, match="could not finish") as caught:
        list(in_batches(engine, "SELECT CAST(error(t) AS BIGINT) AS cell FROM data", "cell"))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    for part in ("Ann", "Bob", "Eve"):
        assert part not in str(caught.value)


def test_an_iterator_that_is_left_lets_the_engine_go() -> None:
    engine = inside.engine_of(protect())
    keys = {"k": pa.table({"g": pa.array([0, 1, 4], pa.int64())})}
    sql = "SELECT CAST(data.g AS BIGINT) AS cell, COUNT(*) AS m0 FROM data JOIN k USING (g) GROUP BY data.g"
    pieces = in_batches(engine, sql, "cell", keys, rows=1)
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    assert engine.integers("SELECT COUNT(*) AS n FROM data").to_pydict() == {"n": [3000]}
    with pytest.raises(EngineError):
        engine.integers("SELECT COUNT(*) AS n FROM k")


def test_answers_that_stream_are_too_large_for_draws() -> None:
    session = shared.protect(TABLE, privacy_unit="u", max_rows=3, bounds={"g": (0, 65_536)}, budget=1)
    plan = inside.plan_of(session, QUESTIONS[0], Fraction(1))
    assert many_groups.streams(plan)
    assert draws_for(plan.releases) < FEWEST
