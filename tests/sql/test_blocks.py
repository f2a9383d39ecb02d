"""Many groups are worked on in blocks, and nothing of that shows."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import DEEP, in_turn

import discreet as dp
from discreet.engines.sandbox import Sandbox
from discreet.release.draw import Draw
from discreet.sql.finish import serialisation as settled
from discreet.sql.finish.serialisation import pack, unpack
from discreet.sql.intervals.closed_form import _ratio_widths, mean_interval
from discreet.sql.intervals.lazy import LazyMapping
from discreet.sql.intervals.row_mapping import follows, in_order
from discreet.sql.lower import run
from discreet.sql.lower.uses import uses_of

TABLE = pa.table({"g": [1, 1, 2, 7], "x": [1.0, 2.0, 3.0, 4.0]})
QUERY = "SELECT g, COUNT(*) AS n, AVG(x) AS x, SUM(x) AS s FROM data GROUP BY g"


def protect() -> dp.Session:
    return shared.protect(TABLE, privacy_unit="row", bounds={"g": (0, 1023), "x": (0, 9)}, budget=100)


def test_intervals_are_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    session = protect()
    session.sql(QUERY, epsilon=1)
    whole = session.sql(QUERY, epsilon=1, confidence=0.9)
    monkeypatch.setattr(run, "BLOCK", 100)
    blocks = session.sql(QUERY, epsilon=1, confidence=0.9)
    assert whole.replayed
    assert whole.values.equals(blocks.values)
    for name in ("n", "x", "s"):
        assert whole.low[name].to_pylist() == blocks.low[name].to_pylist()
        assert whole.high[name].to_pylist() == blocks.high[name].to_pylist()


def test_every_block_has_noise_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # A fault would repeat a block: 100 draws at scale 2^40 that are all alike have a probability below 1e-1000. Less
    # than 1,000 of 1,024 draws are not zero with one below 1e-200.
    monkeypatch.setattr(run, "BLOCK", 100)
    session = protect()
    plan = inside.plan_of(session, "SELECT g, COUNT(*) AS n FROM data GROUP BY g", Fraction(1, 2**40))
    (noisy,) = (
        run.run_release(one, inside.engine_of(session), 1, Draw(uses_of([one]))) for one in plan.releases
    )
    counts = noisy.entries[:, 0]
    assert len(counts) == 1024
    blocks = counts[:1000].reshape(10, 100)
    assert all((blocks[0] != blocks[at]).any() for at in range(1, 10))
    assert (np.abs(counts) > 0).sum() > 1000


# A deep run: each with each.
@pytest.mark.parametrize(("query", "block"), in_turn([
    QUERY,
    "SELECT g, COUNT(*) AS n FROM data GROUP BY g HAVING COUNT(*) > 1 ORDER BY n DESC LIMIT 7",
    "SELECT g, COUNT(*) / 2 AS n FROM data GROUP BY g",
    "SELECT g, MEDIAN(x) AS m, VAR_POP(x) AS v FROM data GROUP BY g",
], [1 << 18, 100]))  # fmt: skip
def test_what_the_ledger_keeps_is_what_was_answered(
    query: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settled, "BLOCK", block)
    session = shared.protect(TABLE, privacy_unit="row", bounds={"g": (0, 255), "x": (0, 9)}, budget=100)
    asked = session.sql(query, epsilon=1)
    again = session.sql(query, epsilon=1)
    assert again.replayed
    assert not asked.replayed
    assert again.to_arrow().equals(asked.to_arrow())
    assert again.made == asked.made
    assert again.notes == asked.notes


@pytest.mark.parametrize("reach", [1, 100, 2**15, 2**31, 2**40, 2**62, 2**63 - 1])
def test_integers_of_any_width_come_back_as_they_were(reach: int) -> None:
    session = protect()
    plan = inside.plan_of(session, QUERY, Fraction(1))
    (noisy,) = inside.noisy_of(session, plan, Draw(uses_of(plan.releases)))
    rng = np.random.default_rng(0)
    entries = rng.integers(-reach, reach, noisy.entries.shape, endpoint=True)
    entries[0] = -reach
    release = inside.answer_of(session, plan, [noisy], 0.95)
    (kept,) = unpack(pack(release, [run.NoisyIntegers(noisy.plan, entries)]), plan).noisy
    assert (kept.entries == entries).all()


def test_an_answer_that_follows_from_its_integers_is_not_kept_beside_them() -> None:
    session = protect()
    for query, kept in ((QUERY, False), ("SELECT g, VAR_POP(x) AS v FROM data GROUP BY g", True)):
        plan = inside.plan_of(session, query, Fraction(1))
        noisy = inside.noisy_of(session, plan, Draw(uses_of(plan.releases)))
        data = pack(inside.answer_of(session, plan, noisy, 0.95), noisy, follows(plan))
        assert (unpack(data, plan).answer is not None) == kept


@pytest.mark.parametrize("query", [
    "SELECT g, COUNT(*) AS n FROM data GROUP BY g ORDER BY n",
    "SELECT g, COUNT(*) AS n FROM data GROUP BY g ORDER BY n DESC",
    "SELECT g, COUNT(*) AS n FROM data GROUP BY g ORDER BY COUNT(*) DESC, g",
    "SELECT g, COUNT(*) AS n FROM data GROUP BY g ORDER BY ALL",
    "SELECT g, COUNT(*) AS n FROM data GROUP BY g ORDER BY 2",
    "SELECT COUNT(*) AS g, g AS n FROM data GROUP BY data.g ORDER BY data.g DESC",
])  # fmt: skip
def test_an_order_is_what_the_database_makes_of_it(query: str) -> None:
    session = protect()
    plan = inside.plan_of(session, query, Fraction(1))
    noisy = inside.noisy_of(session, plan, Draw(uses_of(plan.releases)))
    release = inside.answer_of(session, plan, noisy, 0.95)
    with Sandbox({noisy[0].plan.name: noisy[0].table()}) as sandbox:
        plainly = sandbox.run(plan.post.sql("duckdb"))
    order = plan.post.args["order"].expressions[0].this.name
    first = release.columns[1] if order == "2" else order if order in release.columns else release.columns[0]
    assert release.values.column(first).to_pylist() == plainly.column(first).to_pylist()
    assert sorted(release.values.to_pylist(), key=str) == sorted(plainly.to_pylist(), key=str)


def test_no_group_at_all_has_an_order() -> None:
    names = pa.table({"u": [1, 2], "g": ["Ann", "Bob"]})
    session = shared.protect(names, privacy_unit="u", max_rows=1, budget=dp.Budget(epsilon=9, delta=1e-9))
    query = "SELECT g, COUNT(*) AS n FROM data GROUP BY g ORDER BY n DESC"
    asked = session.sql(query, epsilon=0.1, delta=1e-9)
    again = session.sql(query, epsilon=0.1, delta=1e-9, confidence=0.5)
    assert (len(asked), len(again), again.replayed) == (0, 0, True)


def test_orders_of_integers_of_any_width() -> None:
    rng = np.random.default_rng(0)
    for reach in (0, 3, 2**17, 2**33, 2**62, 2**63 - 1):
        values = rng.integers(-reach, reach, 2000, endpoint=True)
        for descending in (False, True):
            expected = sorted(
                range(len(values)), key=lambda at: -int(values[at]) if descending else int(values[at])
            )
            assert in_order(values, descending).tolist() == expected


def test_intervals_are_made_when_they_are_looked_at() -> None:
    release = protect().sql(QUERY, epsilon=1)
    assert isinstance(release.low, LazyMapping)
    assert not release.low._made
    assert "n" in release.low
    assert not release.low._made
    same = pickle.loads(pickle.dumps(release))
    assert same.to_arrow().equals(release.to_arrow())
    assert same.low["n"].to_pylist() == release.low["n"].to_pylist()


def test_a_mean_ends_where_its_test_ends() -> None:
    """The ends lie where |b - c (a + b)| is the half-width, and nowhere else; a plain search finds the same."""
    rng = np.random.default_rng(1)
    n, scale = 3000, 1000.0
    rows = rng.choice([0, 1, 5, 50, 5000], n) * scale
    share = rng.random(n)
    a, b = rows * (1 - share) + rng.laplace(0, scale, n), rows * share + rng.laplace(0, scale, n)
    for confidence in (0.5, 0.95, 0.999):
        widths = scale * _ratio_widths(confidence)
        grid = np.linspace(0, 1, len(widths))
        low, high = mean_interval(a, b, scale, confidence)
        for at in range(0, n, 7 if DEEP else 21):
            total = a[at] + b[at]
            c = np.unique([*np.linspace(0, 1, 4001), np.clip(b[at] / total, 0, 1)])
            held = np.abs(b[at] - c * total) <= np.interp(c, grid, widths)
            if total <= 0 or not held.any():
                assert (low[at], high[at]) == (0, 1)
                continue
            assert low[at] == pytest.approx(c[held][0], abs=1 / 4000 + 1e-9)
            assert high[at] == pytest.approx(c[held][-1], abs=1 / 4000 + 1e-9)
