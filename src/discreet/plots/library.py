"""The library that draws, which is an optional extra."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from discreet.errors import MissingExtra


def altair() -> Any:
    """The library that draws.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import altair as alt
        import vl_convert  # noqa: F401
    except ImportError:
        found = None
    else:
        found = alt
    if found is None:
        raise MissingExtra(
            "Pictures need altair and vl-convert-python.", 'Install them with pip install "discreet[plots]".'
        )
    return found


class _Unchecked:
    """Who draws unchecked now: altair has one switch for all threads, so the first turns it off and the last on again.

    Each restoring for itself would leave it off for good where a second thread began before the first was done. So
    would restoring an off that was found: altair turns it off for the moment of a copy, in another thread perhaps.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.turned = False

    def __enter__(self) -> None:
        from altair.utils import schemapi

        with self.lock:
            if not self.inside:
                self.turned = schemapi.DEBUG_MODE
            self.inside += 1
            schemapi.DEBUG_MODE = False

    def __exit__(self, *_: object) -> None:
        from altair.utils import schemapi

        with self.lock:
            self.inside -= 1
            if not self.inside and self.turned:
                schemapi.DEBUG_MODE = True


_UNCHECKED = _Unchecked()


@contextmanager
def unchecked() -> Iterator[None]:
    """Within it no part of a picture is held against the grammar, each number of the data among them.

    Pictures are drawn by code that tests hold against it; for a map of 5,000 cells that takes seconds. It holds for
    all threads, until the last of those that are within it has left.
    """
    altair()
    with _UNCHECKED:
        yield
