"""Signals that end the process: they stop it as Ctrl-C does, so that its open files are closed and removed."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from discreet.errors import EngineError, PostProcessingError, tell

T = TypeVar("T")


class Stopped(KeyboardInterrupt):
    """The process was told to end.

    Attributes:
        number: of the signal.
        name: of the signal, such as SIGTERM.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.name = signal.Signals(number).name


def clean_up_on_signals() -> None:
    """Turn SIGTERM and SIGHUP into an exception; one that the process was started to ignore stays ignored."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # there is no SIGHUP on Windows
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # once is enough: a second one shall not stop the cleaning up
    raise Stopped(number)


def stoppable(ask: Callable[[], T]) -> T:
    """Ask a session; an interrupt that its engine turns into an error of its own is an interrupt again."""
    interrupted = False

    def stop(number: int, frame: FrameType | None) -> None:
        # DuckDB turns the interrupt that it notices into an error of its own, so it is noted here.
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        return ask()
    except (EngineError, PostProcessingError) as error:
        if not interrupted:
            raise
        failure = KeyboardInterrupt()
        tell(failure, error.charged)
        raise failure from None
    finally:
        signal.signal(signal.SIGINT, before)
