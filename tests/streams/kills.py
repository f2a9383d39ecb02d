"""A stream that is killed again and again; run as `python kills.py FOLDER KILLS FAULT`.

Each life is a process that opens the stream, reads the whole input and writes each estimate as a line to a pipe. The
parent kills it with SIGKILL after a random time, in about half of the young lives from its first moment and else, or
with a fault, from its first line, and starts the next one. A stream that reached its end is followed by a new one.
Noise is that of a generator with a seed, until a line was shown; after that each draw is another, so that a second draw
cannot go unseen. Prints as JSON all lines ever shown, how often noise was drawn after the first of a stream, and the
charges.

FAULT is `none`; `redraw`, a stream that draws anew in each life; or `twice`, one whose counts and place in the input
are kept apart.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import random
import select
import signal
import sys
import time
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.random  # each life would load it, and the store of the ledger

from discreet.ledger import Account, Loss, open_ledger
from discreet.ledger.sqlite import store as store
from discreet.mechanisms.numeric import gaussian_vector, laplace_vector
from discreet.policy import Policy
from discreet.release.account import PlainAccount
from discreet.streams import StreamQuestion, StreamSpec, declared, open_stream
from discreet.streams import stream as running
from discreet.streams.feeds import text as text_feed
from discreet.streams.feeds.text import TextFeed
from discreet.streams.state import StreamFolder
from tests.streams.invented import gaussian

PERIODS = 16
SEED = 7
POLICY = Policy.for_table(
    "visits",
    privacy_unit="patient",
    max_rows=2,
    keys={"ward": ["N", "S"]},
    budget=10**6,
    bounds={"cost": (0, 10)},
)
ASKED: tuple[dict[str, Any], ...] = (
    {"method": "tree", "periods": PERIODS},
    {"method": "root", "periods": PERIODS, "means": ("cost",)},
    {"method": "doubling", "periods": 40, "window": 3, "sums": ("cost",)},
)
"""The first stream has these, the second those, and so on in turn."""
SPECS = [
    declared(
        POLICY,
        "visits",
        StreamQuestion(time="time", start=dt.datetime(2026, 1, 1), every="day", epsilon=Fraction(1), group="ward",
                       **asked),
    )
    for asked in ASKED
]  # fmt: skip
SPECS[1] = gaussian(SPECS[1], Fraction(1, 10**6))


@cache
def text() -> bytes:
    """Rows of all days, and a tick after each."""
    made = random.Random(3)
    rows = ["patient,time,ward,cost"]
    for day in range(1, PERIODS + 1):
        for _ in range(20):
            late = max(1, day - made.randrange(3))
            rows.append(
                f"p{made.randrange(150)},2026-01-{late:02}T09:00,{made.choice('NS')},{made.randrange(12)}"
            )
        rows.append(f"#tick 2026-01-{day + 1:02}")
    return "\n".join(rows).encode() + b"\n"


def plant(fault: str) -> None:
    """Make the stream careless."""
    if fault == "redraw":
        real = vars(running)["noise_of"]

        def again(spec: StreamSpec, state: StreamFolder, ledger: Any, payer: Any) -> Any:
            real(spec, state, ledger, payer)
            nodes = spec.strategy.nodes(spec.periods.count)
            return {
                m.name: vars(laplace_vector)["add_laplace"](np.zeros((nodes, 2 * m.parts), np.int64), 8)
                for m in spec.measures
            }

        vars(running)["noise_of"] = again
    elif fault == "twice":
        keep = StreamFolder.keep

        def forget(self: StreamFolder, progress: Any) -> None:
            read, digest = progress.read, progress.digest
            progress.read, progress.digest = 0, TextFeed(io.BytesIO()).digest
            progress.closed -= 1  # so that its rows count again
            keep(self, progress)
            progress.closed += 1
            progress.read, progress.digest = read, digest

        StreamFolder.keep = forget  # type: ignore[method-assign]


def life(folder: Path, drawn: int, shown_before: bool, show: int, slow: float) -> None:
    """One life, to its end or to the kill."""
    spec = SPECS[int(folder.name) % len(SPECS)]
    calls = 0

    def noise(exact: Any, scale: Any) -> Any:
        nonlocal calls
        calls += 1
        if shown_before:
            os.write(drawn, b"x")
        made = np.random.default_rng([SEED, os.getpid(), calls] if shown_before else SEED)
        return exact + made.integers(-40, 41, exact.shape)

    vars(laplace_vector)["add_laplace"] = noise
    vars(gaussian_vector)["gaussian"] = lambda variance, size: noise(np.zeros(size, np.int64), variance)
    vars(text_feed)["SMALL"] = 0  # by columns, as long inputs are
    with open_ledger(folder / "ledger.db") as ledger:
        payer = PlainAccount(ledger, Account("the data set", Loss(10**6, Fraction(1, 10))), "add_remove")
        with open_stream(spec, folder / "state", ledger, payer) as stream:
            feed = TextFeed(io.BytesIO(text()), needed=spec.columns, ticks=True, numbers=("cost",))
            feed.skip(stream.progress.read, stream.progress.digest)
            out = [one for t in range(1, stream.closed + 1) for one in stream.estimates(t)]
            tell(show, spec.method, out)
            for piece in feed.pieces():
                if isinstance(piece, dt.datetime):
                    tell(show, spec.method, stream.close(spec.periods.ended(piece), feed))
                    time.sleep(slow)
                else:
                    stream.take(piece)


def tell(show: int, method: str, estimates: list[Any]) -> None:
    for one in estimates:
        os.write(show, f"{method} {one.name} {one.period} {one.key} {one.value!r} {one.total!r}\n".encode())


def run(folder: Path, kills: int, fault: str) -> dict[str, Any]:
    plant(fault)
    text()  # for all lives
    chance = random.Random()
    shown, drawn = os.pipe(), os.pipe()
    for pipe in (*shown, *drawn):
        os.set_blocking(pipe, False)
    lines: list[str] = []
    found = {"redrawn": 0, "deaths": 0, "late": 0, "streams": 1, "charges": 0, "settled": 0}
    place, before = folder / "1", False
    place.mkdir()
    span = 0.3 * _whole(folder / "0")  # so that a busy machine kills at the same points
    while True:
        killing = found["deaths"] < kills
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                life(place, drawn[1], before, shown[1], 0.004 if killing else 0)
                status = 0
            finally:
                os._exit(status)
        if killing:
            if before or fault != "none" or chance.random() < 0.5:
                select.select([shown[0]], [], [], 5)
            time.sleep(chance.uniform(0, span))
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        new = _read(shown[0]).decode().splitlines()
        before = before or bool(new)
        lines += new
        found["redrawn"] += len(_read(drawn[0]))
        if os.WIFSIGNALED(status):
            found["deaths"] += 1
            found["late"] += before
            continue
        with open_ledger(place / "ledger.db") as ledger:
            kinds = [entry.kind for entry in ledger.entries()]
        found["charges"] += kinds.count("charge")
        found["settled"] += kinds.count("settle")
        if status or (not killing and found["streams"] >= len(SPECS)):
            return {"lines": sorted(set(lines)), "status": status, **found}
        found["streams"] += 1
        place, before = folder / str(found["streams"]), False
        place.mkdir()


def _whole(folder: Path) -> float:
    """How long a life takes that nobody ends."""
    folder.mkdir()
    begin = time.monotonic()
    if (pid := os.fork()) == 0:
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            life(folder, quiet, False, quiet, 0.004)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    return time.monotonic() - begin


def _read(pipe: int) -> bytes:
    out = b""
    try:
        while part := os.read(pipe, 1 << 16):
            out += part
    except BlockingIOError:
        pass
    return out


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))
