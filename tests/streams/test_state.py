"""The state of a stream is whole at any time."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from discreet.streams.counting.seen import Seen
from discreet.streams.state import StreamFolder, StreamProgress


def progress(closed: int) -> StreamProgress:
    units = np.frombuffer(os.urandom(16) + b"\0" * 16 + b"a" + b"\0" * 15, "<u8").reshape(-1, 2)
    return StreamProgress(
        closed, 7 * closed, "ab", {"count": np.arange(6).reshape(3, 2) * closed}, Seen(units, np.arange(1, 4))
    )


def test_progress_comes_back(tmp_path: Path) -> None:
    state = StreamFolder(tmp_path)
    assert state.progress(3) is None
    for closed in (1, 2):
        made = progress(closed)
        state.keep(made)
        found = state.progress(3)
        assert found is not None
        assert (found.closed, found.read, found.digest, found.seen) == (closed, 7 * closed, "ab", made.seen)
        assert (found.counts["count"] == made.counts["count"]).all()
    assert sorted(os.listdir(tmp_path)) == ["progress.npz"]


def test_a_write_that_fails_leaves_the_state_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = StreamFolder(tmp_path)
    state.keep(progress(1))

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        state.keep(progress(2))
    found = state.progress(3)
    assert found is not None
    assert found.closed == 1
