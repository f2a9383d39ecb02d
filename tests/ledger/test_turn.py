"""Of those who ask the same question at once, one pays; the others wait for the answer, but not for ever."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from tests.warm import programs

from discreet.ledger import Account, Ledger, Loss, open_ledger, turn

VISITS = Account("data set visits", Loss(3))


def together(folder: Path, how: str, place: str) -> dict[str, int]:
    command = [
        str(programs() / "python"),
        str(Path(__file__).with_name("together.py")),
        str(folder),
        how,
        place,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    result: dict[str, int] = json.loads(done.stdout)
    return result


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_four_processes_pay_once(tmp_path: Path, durable: str) -> None:
    assert together(tmp_path, "turns", durable) == {"charges": 1, "answers": 1, "given": 4}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_without_turns_each_pays(tmp_path: Path) -> None:
    """The planted fault; how many find the answer settled already depends on the machine."""
    result = together(tmp_path, "alone", str(tmp_path / "ledger.db"))
    assert result["charges"] > 1
    assert result["given"] == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_when_the_first_is_killed_the_next_takes_over(tmp_path: Path, durable: str) -> None:
    assert together(tmp_path, "killed", durable) == {"charges": 2, "answers": 1, "given": 3}


def test_threads_pay_once(place: str | None) -> None:
    with open_ledger(place) as ledger:
        gate = threading.Barrier(4)

        def ask(_: int) -> bytes | None:
            gate.wait()
            with ledger.turn("q"):
                if ledger.replay("q") is None:
                    ledger.settle(ledger.charge("q", Loss(1), [VISITS]), b"answer")
                return ledger.replay("q")

        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(ask, range(4))) == {b"answer"}
        assert ledger.verify() == 2
    assert not turn._locks


def _waits(ledger: Ledger, question: str) -> bool:
    with ledger.turn(question, wait=0.05) as mine:
        return mine


def test_the_wait_has_an_end_and_other_questions_do_not_wait(place: str | None) -> None:
    with open_ledger(place) as ledger, ThreadPoolExecutor(1) as pool:
        with ledger.turn("q") as mine:
            assert mine
            assert not pool.submit(_waits, ledger, "q").result()
            assert pool.submit(_waits, ledger, "another").result()
        assert pool.submit(_waits, ledger, "q").result()


def test_a_turn_ends_with_an_error_inside(durable: str) -> None:
    with open_ledger(durable) as ledger:
        with pytest.raises(ZeroDivisionError), ledger.turn("q"):
            raise ZeroDivisionError
        assert _waits(ledger, "q")


HOLDS = """
import sys
from discreet.ledger.turn import FileTurns
with FileTurns(sys.argv[1]).next_to_write(5) as mine:
    print(mine, flush=True)
    sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs locks of bytes")
def test_one_process_at_a_time_is_the_next_to_write(tmp_path: Path) -> None:
    turns = turn.FileTurns(str(tmp_path / "l.db-turns"))
    with turns.next_to_write(5) as mine:
        assert mine
    command = [sys.executable, "-c", HOLDS, str(tmp_path / "l.db-turns")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        with turns.next_to_write(0.05) as mine:
            assert not mine  # and it goes on: another lock keeps writers apart
        other.communicate("go on\n")
    with turns.next_to_write(5) as mine:
        assert mine


@pytest.mark.skipif(sys.platform == "win32", reason="needs locks of bytes")
def test_a_stopped_process_that_is_the_next_to_write_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "POLITE", 0.2)
    with open_ledger(tmp_path / "l.db") as ledger:
        command = [sys.executable, "-c", HOLDS, str(tmp_path / "l.db-turns")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "True\n"
            began = time.monotonic()
            for at in range(4):
                ledger.charge(f"q {at}", Loss(Fraction(1, 10)), [VISITS])
            assert time.monotonic() - began < 20  # each would take 30 seconds
            other.communicate("go on\n")
