"""The progress of a question, shown in a notebook when it takes long enough to wonder. It needs no ipywidgets."""

from __future__ import annotations

import contextlib
import contextvars
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from discreet.escaping import markup, name

DELAY = 1.0
"""Seconds before anything is shown, and between two looks at the time."""
Say = Callable[[str], None]


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook. Nothing is imported to find out."""
    find = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return find is not None and getattr(find(), "kernel", None) is not None


@contextlib.contextmanager
def shown_progress(progress: Say | None) -> Iterator[Say]:
    """The function to call with a few words at each step: the caller's, else a line in a notebook, else nothing."""
    if progress is not None or not in_notebook():
        yield progress or (lambda _: None)
        return
    line = _Line()
    try:
        yield line.say
    finally:
        line.end()


class _Line:
    """A line under the cell with the words and the time so far, which goes when the work is done."""

    def __init__(self) -> None:
        self._words = "looking at the question"
        self._start = time.monotonic()
        self._handle: Any = None
        self._done = threading.Event()
        # In the context of the cell, so that the line stands under it.
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._tick,), daemon=True)
        self._thread.start()

    def say(self, words: str) -> None:
        self._words = words

    def end(self) -> None:
        self._done.set()
        self._thread.join()
        if self._handle is not None:
            # The answer is paid for: a line that stays takes nothing from it.
            with contextlib.suppress(Exception):
                self._handle.update(_bundle(""), raw=True)

    def _tick(self) -> None:
        while not self._done.wait(DELAY):
            said = f"{self._words} · {time.monotonic() - self._start:.0f} s"
            with contextlib.suppress(Exception):
                self._show(said)

    def _show(self, said: str) -> None:
        display: Any = import_module("IPython.display").display

        if self._handle is None:
            self._handle = display(_bundle(said), raw=True, display_id=True)
        else:
            self._handle.update(_bundle(said), raw=True)


def _bundle(words: str) -> dict[str, str]:
    return {"text/plain": name(words), "text/html": f"<small>{markup(words)}</small>" if words else ""}
