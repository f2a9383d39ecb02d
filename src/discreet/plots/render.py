"""Pictures as files, without a browser or a network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from discreet.errors import InvalidParameter

KINDS: Final = (".svg", ".png", ".html", ".json")


def check_path(path: str | os.PathLike[str]) -> Path:
    """See that a picture can be written there.

    Raises:
        InvalidParameter: the name does not end in .svg, .png, .html or .json, or there is no such folder.
    """
    file = Path(path)
    if file.suffix.lower() not in KINDS:
        raise InvalidParameter(
            f"The name {file.name} has no ending of a picture.", f"End it in {', '.join(KINDS)}."
        )
    if not file.absolute().parent.is_dir():
        raise InvalidParameter(f"There is no folder {file.parent}.", "Make it first.")
    return file


def save(chart: Any, path: str | os.PathLike[str], *, scale: float = 2.0) -> Path:
    """Write a picture; the ending of the name says the kind.

    Args:
        chart: what a function of `discreet.plots` returned.
        path: ends in .svg, .png, .html (whole, with its scripts) or .json (Vega-Lite).
        scale: pixels of a PNG for each of the SVG.

    Raises:
        InvalidParameter: as for `check_path`.

    Example:
        >>> import tempfile
        >>> from discreet.plots import densities, save
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(densities([1, 2]), f"{folder}/densities.svg").read_text()[:4]
        '<svg'
    """
    file = check_path(path)
    kind = file.suffix.lower()[1:]
    if kind == "png":
        chart.save(str(file), format=kind, scale_factor=scale)
    elif kind == "html":
        chart.save(str(file), format=kind, inline=True)
    else:
        chart.save(str(file), format=kind)
    return file
