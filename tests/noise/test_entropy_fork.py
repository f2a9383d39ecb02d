"""A real signal handler forks in the middle of a real draw, and its child goes on where the parent was interrupted.

Draws at scale 2^50 that stand at the same place in both processes are equal with probability below 2^-50 when they
are independent: a false alarm has a probability below 5,000 x 2^-50 = 5e-12 a test. Streams that are shared give
equal draws everywhere.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.depth import few, in_turn

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

FORK = """
import os, pickle, signal
import numpy as np
from discreet import noise
from discreet.noise import entropy

child = None

def fork(*_):
    global child
    child = os.fork()                  # the child returns from the handler and goes on with the draw

signal.signal(signal.SIGUSR1, fork)
fill, calls = entropy._Aes.fill, 0

def interrupted(self, out):
    global calls
    calls += 1
    if calls == AT and BEFORE:
        signal.raise_signal(signal.SIGUSR1)
    fill(self, out)
    if calls == AT and not BEFORE:
        signal.raise_signal(signal.SIGUSR1)

noise.laplace(2**50, 8)                # the parent's generator exists before the fork
entropy._Aes.fill = interrupted
draws = np.asarray(DRAW, dtype=object).ravel().tolist()
assert child is not None, "the draw made fewer requests than that"
read, write = None, None
name = "answer"
if child == 0:
    with open(name + ".part", "wb") as file:
        pickle.dump(draws, file)
    os.rename(name + ".part", name)
    os._exit(0)
os.waitpid(child, 0)
theirs = pickle.load(open(name, "rb"))
assert len(theirs) == len(draws) == 5000
assert not any(a == b for a, b in zip(draws, theirs)), "the parent's"
"""
DRAWS = {
    "laplace": "noise.laplace(2**50, 5000)",
    "geometric": "noise.geometric(2**50, 5000)",
    "uniform": "noise.uniform(2**62, 5000)",
    "sum": "noise.add_laplace(np.zeros(5000, np.int64), 2**50)",
}


def run(code: str, folder: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, check=False, timeout=60, capture_output=True
    )


def script(draw: str, at: int, before: bool, fault: str = "") -> str:
    return fault + FORK.replace("DRAW", draw).replace("AT", str(at)).replace("BEFORE", str(before))


# A deep run interrupts four kinds of draws, each at both places.
@pytest.mark.parametrize(("draw", "before"), few(in_turn([*DRAWS], [True, False]), 2))
def test_a_child_that_goes_on_with_an_interrupted_draw_repeats_nothing(
    draw: str, before: bool, tmp_path: os.PathLike[str]
) -> None:
    done = run(script(DRAWS[draw], 1, before), str(tmp_path))
    assert done.returncode == 0, done.stderr.decode()


def test_what_was_drawn_by_earlier_requests_is_drawn_again(tmp_path: os.PathLike[str]) -> None:
    # The second request is for the lanes that are undecided; the first decided the others.
    done = run(script(DRAWS["laplace"], 2, True), str(tmp_path))
    assert done.returncode == 0, done.stderr.decode()


FAULTS = {
    "the stream goes on in the child": ("entropy._process = lambda: (0, 0)", 1, True),
    "bytes that were drawn are kept": ("entropy._process = lambda: (0, 0)", 1, False),
    "earlier requests are kept": ("noise.laplace = noise.laplace.__wrapped__", 2, True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_fault_is_caught(fault: str, tmp_path: os.PathLike[str]) -> None:
    planted, at, before = FAULTS[fault]
    imports = "from discreet import noise\nfrom discreet.noise import entropy\n"
    code = script(DRAWS["laplace"], at, before, f"{imports}{planted}\n")
    assert b"AssertionError: the parent's" in run(code, str(tmp_path)).stderr


def test_a_request_for_words_is_made_again_after_a_fork(tmp_path: os.PathLike[str]) -> None:
    words = "entropy.system().words(5000, 64)"
    for before in (True, False):
        done = run(script(words, 1, before), str(tmp_path))
        assert done.returncode == 0, done.stderr.decode()
