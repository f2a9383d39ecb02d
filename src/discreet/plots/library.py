"""The library that draws, which is an optional extra."""

from __future__ import annotations

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
