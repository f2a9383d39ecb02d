"""Pictures as files, without a browser or a network."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from discreet import escaping
from discreet.errors import InvalidParameter
from discreet.plots.library import altair, unchecked

KINDS: Final = (".svg", ".png", ".html", ".json")
_STYLE: Final = (
    "html{color-scheme:light dark}body{margin:0 auto;padding:.5rem;max-width:62rem;background:#fff}"
    "#vis .chart-wrapper{min-width:0}#vis svg.marks{max-width:100%;height:auto}"
    "@media(prefers-color-scheme:dark){body{background:#121212}"
    "#vis svg.marks{filter:invert(.93) hue-rotate(180deg)}}"
)
"""Of a page: on a dark screen light and dark change places, and colours keep their hue."""
_DRAW: Final = """\
  const narrow = NARROW;
  const phone = matchMedia("(max-width: 45rem)"), dark = matchMedia("(prefers-color-scheme: dark)");
  function draw() {
    const options = {mode: "vega-lite", renderer: "svg", actions: !phone.matches,
                     tooltip: {theme: dark.matches ? "dark" : "light"}};
    vegaEmbed("#vis", phone.matches ? narrow : spec, options).catch(console.error);
  }
  phone.addEventListener("change", draw);
  dark.addEventListener("change", draw);
  draw();
"""
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


def save(
    chart: Any, path: str | os.PathLike[str], *, scale: float = 2.0, narrow: Callable[[], Any] | None = None
) -> Path:
    """Write a picture; the ending of the name says the kind.

    Args:
        chart: the result of a function of `discreet.plots`.
        path: ends in .svg, .png, .html (whole, with its scripts) or .json (Vega-Lite).
        scale: pixels of a PNG for each of the SVG.
        narrow: draws the picture again for phones, which a page shows there.

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
        file.write_text(_page(chart, None if narrow is None else narrow()), "utf-8")
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


def _page(chart: Any, narrow: Any | None) -> str:
    """A picture as a page with its scripts, its title and its language, which readers of pages aloud need.

    It fits a phone, where `narrow` is shown, and is dark where the reader wants that.
    """
    page = str(_rendered(chart, "html", template="inline", json_kwds={"cls": _Script})["text/html"])
    with unchecked():
        title = chart.to_dict(validate=False).get("title") or {}
        small = None if narrow is None else _clean(narrow.to_dict(validate=False))
    text = title.get("text", "") if isinstance(title, dict) else title
    words = html.escape(escaping.pictured(" ".join(text) if isinstance(text, list) else str(text)))
    head = (
        f'<html lang="en">\n<head>\n  <title>{words}</title>\n'
        f'  <meta name="viewport" content="width=device-width, initial-scale=1">\n  <style>{_STYLE}</style>'
    )
    begin = page.rindex("  const embedOpt")
    end = page.index("</script>", begin)
    shown = _DRAW.replace("NARROW", "spec" if small is None else json.dumps(small, cls=_Script))
    return page[:begin].replace("<html>\n<head>", head, 1) + shown + page[end:]


def _clean(part: Any) -> Any:
    if isinstance(part, str):
        return escaping.pictured(part)
    if isinstance(part, dict):
        return {_clean(name): _clean(value) for name, value in part.items()}
    return [_clean(entry) for entry in part] if isinstance(part, list) else part


class _Script(json.JSONEncoder):
    """Writes JSON that stands inside a script of a page."""

    def encode(self, o: Any) -> str:
        """Write it so that no text in it ends the script."""
        return escaping.script(super().encode(o))
