"""Streams for tests, with noise or without."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.ledger import Account, Ledger, Loss, open_ledger
from discreet.mechanisms import LaplaceVector
from discreet.policy import Policy
from discreet.release.account import PlainAccount
from discreet.streams import Measure, Stream, StreamQuestion, StreamSpec, open_stream
from discreet.streams import declared as read
from discreet.streams.declaring import _drawable
from discreet.streams.state import StreamFolder

START = dt.datetime(2026, 1, 1)


def policy(unit: str = "patient", rows: int | None = 2, neighbours: str = "add_remove") -> Policy:
    return Policy.for_table(
        "visits", privacy_unit=unit, max_rows=None if unit == "row" else rows, budget=3, neighbours=neighbours,
        keys={"ward": ["N", "S"]}, bounds={"cost": (-10, 500)},
    )  # fmt: skip


def spec(declared: Policy | None = None, periods: int | None = 8, **more: Any) -> StreamSpec:
    given: dict[str, Any] = {"time": "time", "epsilon": Fraction(1), "group": "ward", **more}
    asked = StreamQuestion(
        start=given.pop("start", START), every=given.pop("every", "day"), periods=periods, **given
    )
    return read(declared or policy(), "visits", asked)


def gaussian(declared: StreamSpec, delta: Fraction) -> StreamSpec:
    """The same with Gaussian noise, also where Laplace noise errs less; as it is for no delta."""
    return _drawable(replace(declared, delta=delta), [(declared.method, bool(delta))])


def row(day: int, patient: object = "p", ward: object = "N", **more: Any) -> dict[str, Any]:
    return {
        "time": (START + dt.timedelta(days=day - 1)).isoformat(),
        "patient": patient,
        "ward": ward,
        **more,
    }


def silent(declared: StreamSpec, folder: Path) -> Stream:
    """A stream without noise."""
    folder.mkdir(exist_ok=True, parents=True)
    nodes = declared.strategy.nodes(declared.periods.count)
    noise = {
        one.name: np.zeros((nodes, one.parts * len(declared.keys)), np.int64) for one in declared.measures
    }
    return Stream(declared, StreamFolder(folder), noise, 0.95)


def nodes(stream: Stream, rows: Iterable[dict[str, Any]]) -> np.ndarray:
    """The exact nodes of all measures, of rows that come before any period closes."""
    for one in rows:
        stream.add(one)
    counts, strategy = stream.progress.counts, stream.spec.strategy
    parts = [
        strategy.exact(t, counts[m.name])
        for m in stream.spec.measures
        for t in range(1, strategy.periods + 1)
    ]
    return np.concatenate(parts)


def laplace(declared: StreamSpec, measure: Measure) -> LaplaceVector:
    """The noise of a stream without a delta."""
    made = declared.mechanism(measure)
    assert isinstance(made, LaplaceVector)
    return made


def payer(ledger: Ledger, limit: Any = 3) -> PlainAccount:
    return PlainAccount(
        ledger, Account("the data set", limit if isinstance(limit, Loss) else Loss(limit)), "add_remove"
    )


@contextmanager
def opened(declared: StreamSpec, folder: Path, limit: object = 3) -> Iterator[Stream]:
    with (
        open_ledger(folder / "ledger.db") as ledger,
        open_stream(declared, folder / "state", ledger, payer(ledger, limit)) as stream,
    ):
        yield stream


def charges(folder: Path) -> int:
    with open_ledger(folder / "ledger.db") as ledger:
        return sum(entry.kind == "charge" for entry in ledger.entries())
