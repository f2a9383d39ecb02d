"""Progress on a terminal, shown only when it takes long enough to wonder."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

DELAY = 1.0
"""Seconds before anything is shown: a quick answer does not flicker."""


class ProgressLine:
    """A line on stderr with a few words and the time so far, which goes when the work is done.

    Nothing is shown when stderr is not a terminal.
    """

    def __init__(self, words: str) -> None:
        self._words = words
        self._bar: Bar | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(DELAY, self._show)
        self._timer.daemon = True

    def say(self, words: str) -> None:
        """Change the words."""
        with self._lock:
            self._words = words
            if self._bar is not None:
                for task in self._bar.task_ids:
                    self._bar.update(task, description=words)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task(self._words, total=None)
            self._bar.start()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._timer.ident is not None:
            self._timer.join()  # so that it cannot start to show anything from now on
        if self._bar is not None:
            self._bar.stop()
