"""Where an answer goes: one place at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.cli.options import Usage
from discreet.cli.terminal.sink import Sink


@pytest.mark.parametrize(
    "sink",
    [
        Sink(as_json=True, as_csv=True), Sink(as_json=True, output=Path("a.csv")), Sink(output=Path("a.txt")),
        Sink(output=Path("nowhere/at/all/a.csv")),
    ],
)  # fmt: skip
def test_two_places_and_unknown_ones_are_refused(sink: Sink) -> None:
    with pytest.raises(Usage):
        sink.see()


def test_a_table_is_written_by_the_session() -> None:
    assert Sink(output=Path("a.CSV")).table == Path("a.CSV")
    assert Sink(output=Path("a.json")).table is None
    assert Sink().table is None
