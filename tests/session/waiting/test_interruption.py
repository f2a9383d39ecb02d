"""Work for the main thread is done by another one, which is kept; a signal stops the work and lets the thread go."""

from __future__ import annotations

import os
import signal
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast

import pytest

from discreet.engines.engine import Engine as AnyEngine
from discreet.session.waiting import interruption
from discreet.session.waiting.interruption import interruptibly

R = TypeVar("R")


class Engine:
    """Stops when it is told to."""

    def __init__(self) -> None:
        self.told = threading.Event()

    def interrupt(self) -> None:
        self.told.set()


def asked(work: Callable[[], R], engine: Engine | None = None) -> R:
    return interruptibly(cast(AnyEngine, engine or Engine()), work)


def test_one_thread_does_the_work_of_many_questions() -> None:
    idents = {asked(threading.get_ident) for _ in range(5)}
    assert len(idents) == 1
    assert threading.get_ident() not in idents


def test_an_error_is_raised_and_the_thread_stays() -> None:
    before = asked(threading.get_ident)
    with pytest.raises(ZeroDivisionError):
        asked(lambda: 1 // 0)
    assert asked(threading.get_ident) == before


def test_another_thread_does_its_own_work() -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(asked(threading.get_ident)))
    thread.start()
    thread.join()
    assert found == [thread.ident]


def test_a_signal_stops_the_engine_and_the_next_question_has_another_thread() -> None:
    engine, before = Engine(), asked(threading.get_ident)

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert engine.told.wait(60)

    with pytest.raises(KeyboardInterrupt):
        asked(work, engine)
    assert engine.told.is_set()
    assert asked(threading.get_ident) != before


def test_a_question_within_a_signal_handler_is_answered() -> None:
    found: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda *_: found.append(asked(lambda: 7)))

    def work() -> int:
        os.kill(os.getpid(), signal.SIGUSR1)
        end = time.monotonic() + 60
        while not found and time.monotonic() < end:
            time.sleep(0.001)
        return 8

    try:
        assert asked(work) == 8
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert found == [7]


def test_nothing_of_a_question_is_held_until_the_next() -> None:
    class Held:
        pass

    held = [Held()]
    gone = weakref.ref(held[0])
    assert asked(partial(bool, held.pop()))
    end = time.monotonic() + 60
    while gone() is not None and time.monotonic() < end:
        time.sleep(0.001)  # the thread may still be on its way to wait
    assert gone() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_has_a_thread_of_its_own() -> None:
    asked(threading.get_ident)
    child = os.fork()
    if not child:
        os._exit(0 if not interruption._idle and asked(lambda: 7) == 7 else 1)
    assert os.waitpid(child, 0)[1] == 0
