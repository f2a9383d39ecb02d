"""The library that draws, which is an optional extra."""

from __future__ import annotations

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


@contextmanager
def unchecked() -> Iterator[None]:
    """Within it no part of a picture is held against the grammar, each number of the data among them.

    Pictures are drawn by code that tests hold against it; for a map of 5,000 cells that takes seconds.
    """
    altair()
    from altair.utils import schemapi

    with schemapi.debug_mode(False):
        yield
