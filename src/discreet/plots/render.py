"""Pictures as files, without a browser or a network."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import Any, Final

from discreet import escaping
from discreet.errors import InvalidParameter
from discreet.plots.library import altair, unchecked

KINDS: Final = (".svg", ".png", ".html", ".json")
_VERSIONS: Final = ("vega_version", "vegalite_version", "vegaembed_version")


def check_path(path: str | os.PathLike[str]) -> Path:
    """Check that a picture can be written to a path.

    Raises:
        InvalidParameter: the name does not end in .svg, .png, .html or .json, or its folder is not there.
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
        chart: the result of a function of `discreet.plots`.
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
    if kind == "json":
        with unchecked():
            spec = _clean(chart.to_dict(validate=False))
        file.write_text(escaping.json_text(json.dumps(spec, indent=2)) + "\n", "utf-8")
    elif kind == "png":
        file.write_bytes(_rendered(chart, "png", scale_factor=scale)[0]["image/png"])
    elif kind == "html":
        drawn = _rendered(chart, "html", template="inline", json_kwds={"cls": _Script})
        file.write_text(_named(drawn["text/html"], chart), "utf-8")
    else:
        file.write_text(svg(chart), "utf-8")
    return file


def svg(chart: Any) -> str:
    """A picture as SVG, which loads nothing."""
    return str(_rendered(chart, "svg")["image/svg+xml"])


def _rendered(chart: Any, kind: str, **more: Any) -> Any:
    """A picture as the renderer gets it: control characters in a text would abort the process, so none get that far."""
    alt = altair()
    from altair.utils.mimebundle import spec_to_mimebundle

    versions = {name: getattr(alt, name.upper()) for name in _VERSIONS}
    with unchecked():
        spec = _clean(chart.to_dict(validate=False, context={"pre_transform": False}))
    return spec_to_mimebundle(spec, kind, "vega-lite", **versions, **more)  # type: ignore[call-overload]


def _named(page: str, chart: Any) -> str:
    """A page with its title and its language, which readers of pages aloud need."""
    with unchecked():
        title = chart.to_dict(validate=False).get("title") or {}
    text = title.get("text", "") if isinstance(title, dict) else title
    words = html.escape(escaping.pictured(" ".join(text) if isinstance(text, list) else str(text)))
    return page.replace("<html>\n<head>", f'<html lang="en">\n<head>\n  <title>{words}</title>', 1)


def _clean(part: Any) -> Any:
    if isinstance(part, str):
        return escaping.pictured(part)
    if isinstance(part, dict):
        return {_clean(name): _clean(value) for name, value in part.items()}
    return [_clean(one) for one in part] if isinstance(part, list) else part


class _Script(json.JSONEncoder):
    """Writes JSON that stands inside a script of a page."""

    def encode(self, o: Any) -> str:
        """Write it so that no text in it ends the script."""
        return escaping.script(super().encode(o))
