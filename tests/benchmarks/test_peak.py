"""The memory of a small process is its own, however large the one that started it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("numpy")
from benchmarks import noise, peak

TAKEN, LARGE = 32 << 20, 256 << 20
INHERITED = """
import resource
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
"""
TAKES = f"before = peak(); taken = b'x' * {TAKEN}; print(peak() - before)"


def grown(source: str) -> int:
    done = subprocess.run([sys.executable, "-c", source + TAKES], capture_output=True, check=True, text=True)
    return int(done.stdout)


def test_a_large_parent_hides_nothing() -> None:
    parent = b"x" * LARGE
    assert peak.peak() >= len(parent)
    assert grown(peak.SOURCE) >= 0.9 * TAKEN


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands the peak on")
def test_a_large_parent_would_hide_what_is_inherited() -> None:
    parent = b"x" * LARGE
    assert len(parent)
    assert grown(INHERITED) == 0


def test_noise_that_takes_three_times_its_values_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    parent = b"x" * LARGE
    wasteful = noise.PEAK.replace("Laplace(1).release(given)", "kept = [given + 1 for _ in range(3)]")
    assert wasteful != noise.PEAK
    assert parent
    monkeypatch.setattr(noise, "PEAK", wasteful)
    line = noise._memory(2_000_000)
    assert not line.ok
    assert 2.9 < line.ratio < 3.5
