"""Synthetic tables beside SmartNoise Synth's and OpenDP's MST and AIM: total variation of all 2- and 3-way marginals.

Three data sets, epsilon 1 and 0.1, delta 1e-9, one row a person. Each peer runs in an environment of its own and has
`LIMIT` seconds for a table; one that takes longer, or that cannot be installed, is named with the reason. `RUNS` tables
of each, every one of an independent release, are compared by their means; a mean counts as greater where it is by more
than three standard errors. Beside them: how often a random forest that is trained on the synthetic rows names a column
of the real ones rightly.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

import discreet as dp
from benchmarks.line import Line
from benchmarks.peers.environments import ROOT, CannotInstall, last_word, python_of
from benchmarks.synthetic_data import SETS, TARGETS, Integers, distance, rightly
from discreet.accounting import Loss
from discreet.accounting.zcdp import ZCDP

EPSILONS = ("1", "0.1")
DELTA = "1e-9"
RUNS = int(os.environ.get("SYNTHETIC_RUNS", "3"))
LIMIT = float(os.environ.get("SYNTHETIC_SECONDS", "600"))
PEERS = {
    "SmartNoise MST": ("synthetic_smartnoise", "mst"),
    "SmartNoise AIM": ("synthetic_smartnoise", "aim"),
    "OpenDP MST": ("synthetic_opendp", "mst"),
    "OpenDP AIM": ("synthetic_opendp", "aim"),
}


def lines(only: list[str] | None = None) -> Iterator[Line]:
    """A line for each data set, epsilon, peer and order of marginals.

    Args:
        only: parts of the names of data sets or peers that are asked for.
    """
    for name, load in SETS.items():
        try:
            rows, sizes = load()
        except FileNotFoundError:
            continue  # the extract stands beside the project, and not in it
        for epsilon in EPSILONS:
            wanted = [
                peer for peer in PEERS if not only or any(part in f"{name} {epsilon} {peer}" for part in only)
            ]
            if not wanted:
                continue
            made = [ours(rows, sizes, epsilon) for _ in range(RUNS)]
            seconds = statistics.median(took for took, _ in made)
            for peer in wanted:
                label = f"{name}, epsilon {epsilon}"
                try:
                    theirs = [asked(peer, rows, sizes, epsilon) for _ in range(RUNS)]
                except CannotInstall as why:
                    yield Line(f"{label}: {peer} has no table: {why}", seconds, "", 0.0, 0.0, "", True)
                    continue
                yield from compared(
                    f"{label}:", name, rows, sizes, peer, seconds, [table for _, table in made], theirs
                )


def compared(
    label: str, name: str, rows: Integers, sizes: list[int], peer: str, seconds: float, made: list[Integers],
    theirs: list[Integers],
) -> Iterator[Line]:  # fmt: skip
    """A line for each order of marginals, and one for models."""
    for order in (2, 3):
        own, other = (
            mean_of([distance(rows, table, sizes, order) for table in one]) for one in (made, theirs)
        )
        beyond = (own[0] - other[0]) / max(math.hypot(own[1], other[1]), 1e-12)
        yield Line(
            f"{label} {order}-way, {own[0]:.3f} ± {own[1]:.3f} beside {other[0]:.3f} ± {other[1]:.3f}", seconds,
            peer, 0.0, own[0] / other[0], "at most 1", beyond <= 3,
        )  # fmt: skip
    own, other = (mean_of([rightly(rows, table, TARGETS[name]) for table in one]) for one in (made, theirs))
    words = f"{label} rightly named, {own[0]:.3f} ± {own[1]:.3f} beside {other[0]:.3f} ± {other[1]:.3f}"
    yield Line(words, seconds, peer, 0.0, own[0] / other[0], "", True)


def mean_of(values: list[float]) -> tuple[float, float]:
    """The mean and its standard error; 0 of a single value."""
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return statistics.mean(values), error


def ours(rows: Integers, sizes: list[int], epsilon: str) -> tuple[float, Integers]:
    """The seconds of processor time of one table, and the table."""
    names = [f"c{at}" for at in range(len(sizes))]
    keys = {name: list(range(size)) for name, size in zip(names, sizes, strict=True)}
    budget = dp.Budget(epsilon=100, delta="1e-6", accountant="zcdp")
    table = pa.table({name: pa.array(rows[:, at]) for at, name in enumerate(names)})
    with dp.protect(table, privacy_unit="row", keys=keys, budget=budget) as session:
        start = time.process_time()
        made = session.synthesize(epsilon=epsilon, delta=DELTA)
        took = time.process_time() - start
    # These tables have no NULL; a class of it costs no more than that it is measured.
    return took, np.column_stack([made.values[name].fill_null(0).to_numpy() for name in names]).astype(
        np.int64
    )


def asked(peer: str, rows: Integers, sizes: list[int], epsilon: str) -> Integers:
    """The table of a peer.

    Raises:
        CannotInstall: there is none, and why.
    """
    script, algorithm = PEERS[peer]
    python = python_of(script)
    rho = float(ZCDP.bought(Loss(Fraction(epsilon), Fraction(DELTA))).rho)
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder) / "given.npz", Path(folder) / "out.npy"
        np.savez(given, rows=rows, sizes=np.array(sizes))
        command = [str(python), "-W", "ignore", "-m", f"benchmarks.peers.{script}", str(given), algorithm, epsilon,
                   DELTA, str(rho), str(out)]  # fmt: skip
        try:
            done = subprocess.run(
                command, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=folder, capture_output=True, text=True,
                timeout=LIMIT,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise CannotInstall(f"it takes more than {LIMIT:.0f} s") from None
        if done.returncode:
            raise CannotInstall(last_word(done.stderr))
        return np.asarray(np.load(out), np.int64)
