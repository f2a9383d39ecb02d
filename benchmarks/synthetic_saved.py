"""The tables of a peer, each saved as soon as it is made: a comparison that was stopped goes on.

A table belongs to the rows, the peer's pinned versions, the script, the algorithm, the loss and the number of its run;
where one of these changes it is made anew. A failure is saved too, with the limit of seconds that it was given.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.peers.environments import REQUIREMENTS, ROOT, last_word, python_of
from benchmarks.synthetic_data import Integers
from discreet.accounting import Loss
from discreet.accounting.zcdp import ZCDP

FOLDER = Path(__file__).parent / "results" / "synthetic"


class NoTable(Exception):
    """A peer gave none; the text says why."""


def saved(
    script: str,
    algorithm: str,
    rows: Integers,
    sizes: list[int],
    epsilon: str,
    delta: str,
    run: int,
    limit: float,
) -> tuple[float, Integers]:
    """The seconds that a table of a peer took, and the table.

    Args:
        script: the module in `peers/` that makes it, and the name of its requirements.
        algorithm: the script's word for it.
        rows: whole numbers, (rows, columns).
        sizes: of the columns.
        epsilon, delta: the loss.
        run: which of the tables of this kind it is.
        limit: of seconds; 0 for a table that is there or none.

    Raises:
        CannotInstall: the peer cannot be had.
        NoTable: it gave none, and why.
    """
    own = Path(__file__).parent / "peers" / f"{script}.py"
    told = [own.read_text("utf-8"), (REQUIREMENTS / f"{script}.txt").read_text("utf-8"), algorithm, epsilon, delta,
            str(sizes), str(rows.shape), hashlib.sha256(rows.tobytes()).hexdigest(), str(run)]  # fmt: skip
    key = hashlib.sha256("\0".join(told).encode()).hexdigest()[:16]
    table, failed = FOLDER / f"{key}.npz", FOLDER / f"{key}-{limit:.0f}s.txt"
    if table.exists():
        with np.load(table) as kept:
            return float(kept["seconds"]), np.asarray(kept["rows"], np.int64)
    if failed.exists():
        raise NoTable(failed.read_text("utf-8"))
    if not limit:
        raise NoTable("none is kept")
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        seconds, made = _made(script, algorithm, rows, sizes, epsilon, delta, limit)
    except NoTable as why:
        failed.write_text(str(why), "utf-8")
        raise
    np.savez_compressed(
        table, seconds=seconds, rows=made.astype(np.int16 if max(sizes) < 1 << 15 else np.int64)
    )
    return seconds, made


def _made(
    script: str, algorithm: str, rows: Integers, sizes: list[int], epsilon: str, delta: str, limit: float
) -> tuple[float, Integers]:
    python = python_of(script)
    rho = float(ZCDP.bought(Loss(Fraction(epsilon), Fraction(delta))).rho)
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder) / "given.npz", Path(folder) / "out.npy"
        np.savez(given, rows=rows, sizes=np.array(sizes))
        command = [str(python), "-W", "ignore", "-m", f"benchmarks.peers.{script}", str(given), algorithm, epsilon,
                   delta, str(rho), str(out)]  # fmt: skip
        start = time.perf_counter()
        try:
            done = subprocess.run(
                command, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=folder, capture_output=True, text=True,
                timeout=limit,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise NoTable(f"it takes more than {limit:.0f} s") from None
        if done.returncode < 0:
            raise NoTable(f"it was ended by signal {-done.returncode}, as for want of memory")
        if done.returncode or not out.exists():
            raise NoTable(last_word(done.stderr))
        return time.perf_counter() - start, np.asarray(np.load(out), np.int64)
