"""Many groups are worked on in blocks, and nothing of that shows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.query import intervals, run
from discreet.query.settled import pack, unpack

TABLE = pa.table({"g": [1, 1, 2, 7], "x": [1.0, 2.0, 3.0, 4.0]})
QUERY = "SELECT g, COUNT(*) AS n, AVG(x) AS x, SUM(x) AS s FROM data GROUP BY g"


def protect() -> dp.Session:
    return dp.protect(TABLE, privacy_unit="row", bounds={"g": (0, 1023), "x": (0, 9)}, budget=100)


def test_intervals_are_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    session = protect()
    session.sql(QUERY, epsilon=1)
    whole = session.sql(QUERY, epsilon=1, confidence=0.9)
    monkeypatch.setattr(intervals, "BLOCK", 100)
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
    plan = session._plan("SELECT g, COUNT(*) AS n FROM data GROUP BY g", Fraction(1, 2**40))
    (noisy,) = (run.run_release(one, session._engine, 1) for one in plan.releases)
    counts = noisy.entries[:, 0]
    assert len(counts) == 1024
    blocks = counts[:1000].reshape(10, 100)
    assert all((blocks[0] != blocks[at]).any() for at in range(1, 10))
    assert (np.abs(counts) > 0).sum() > 1000


def test_what_the_ledger_keeps_is_what_was_answered() -> None:
    session = protect()
    plan = session._plan(QUERY, Fraction(1))
    noisy = session._run(plan)
    release = session._finish(plan, noisy, 0.95)
    kept, entries = unpack(pack(release, noisy), plan)
    assert kept.values.equals(release.values)
    assert kept.replayed
    assert all((a.entries == b.entries).all() for a, b in zip(entries, noisy, strict=True))
