"""A folder with every picture and a page that puts formula, code and numbers beside each."""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from pathlib import Path

from discreet.errors import InvalidParameter
from discreet.plots.catalogue import FIGURES, Figure
from discreet.plots.library import altair
from discreet.plots.render import save

_STYLE = """\
:root { --ink: #1c1c1c; --quiet: #5a5a5a; --line: #dcdcdc; --paper: #ffffff; --wash: #f5f7f9 }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 62rem; padding: 1rem 1.25rem 4rem }
h1 { font-size: 1.7rem; margin: 1rem 0 .25rem } h2 { font-size: 1.25rem; margin: 0 0 .5rem }
nav { columns: 18rem; padding: .75rem 0 1rem; border-bottom: 1px solid var(--line) } nav a { display: block }
a { color: #12508a } section { padding: 2rem 0; border-bottom: 1px solid var(--line) }
img { max-width: 100%; height: auto; border: 1px solid var(--line) }
.formula { font: italic 1.1rem/1.6 Georgia, serif } .quiet { color: var(--quiet) }
pre { background: var(--wash); padding: .75rem 1rem; overflow-x: auto; font-size: .875rem }
table { border-collapse: collapse } td { padding: .2rem 1.5rem .2rem 0; border-top: 1px solid var(--line) }
td + td { text-align: right; font-variant-numeric: tabular-nums; padding-right: 0 }
@media print { section { break-inside: avoid } nav { display: none } }
"""


def gallery(
    folder: str | os.PathLike[str], *, png: bool = True, progress: Callable[[int, int], None] | None = None
) -> Path:
    """Draw every picture into a folder, with the page `index.html`.

    Each is drawn for a slide and for a column of print. Files of the same names are written over.

    Args:
        folder: made when it is not there; its parent must be.
        png: whether to write PNG beside SVG.
        progress: called with the pictures done and the pictures there are.

    Returns:
        The page.

    Raises:
        InvalidParameter: the folder cannot be made, or is a file.
        MissingExtra: the libraries that draw are not installed.

    Example:
        >>> from discreet.plots import gallery
        >>> gallery("pictures")  # doctest: +SKIP
        PosixPath('pictures/index.html')
    """
    altair()
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise InvalidParameter(f"{place} is a file.", "Name a folder.")
    if not place.absolute().parent.is_dir():
        raise InvalidParameter(f"There is no folder {place.parent}.", "Make it first.")
    place.mkdir(exist_ok=True)
    sections = []
    for done, figure in enumerate(FIGURES.values(), 1):
        for size, ending in (("slide", ""), ("column", "-column")):
            chart = figure.draw(size)
            for kind in ("svg", "png") if png else ("svg",):
                save(chart, place / f"{figure.name}{ending}.{kind}")
        sections.append(_section(figure, png))
        if progress is not None:
            progress(done, len(FIGURES))
    page = place / "index.html"
    page.write_text(_page(sections), "utf-8")
    return page


def _page(sections: list[str]) -> str:
    links = "\n".join(f'<a href="#{each.name}">{html.escape(each.title)}</a>' for each in FIGURES.values())
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>discreet: the pictures</title>
<style>
{_STYLE}</style>
</head>
<body>
<h1>discreet: the pictures</h1>
<p class="quiet">Each with its formula, its code and its numbers. All random numbers were drawn anew.</p>
<nav>
{links}
</nav>
{"".join(sections)}</body>
</html>
"""


def _section(figure: Figure, png: bool) -> str:
    rows = "\n".join(
        f"<tr><td>{html.escape(words)}</td><td>{html.escape(value)}</td></tr>"
        for words, value in figure.numbers()
    )
    files = [(f"{figure.name}.svg", "SVG"), (f"{figure.name}-column.svg", "SVG for a column")]
    if png:
        files += [(f"{figure.name}.png", "PNG"), (f"{figure.name}-column.png", "PNG for a column")]
    links = " · ".join(f'<a href="{name}">{words}</a>' for name, words in files)
    # The formula and the sentence are HTML of ours; everything else is escaped.
    return f"""\
<section id="{figure.name}">
<h2>{html.escape(figure.title)}</h2>
<a href="{figure.name}.svg"><img src="{figure.name}.svg" alt="{html.escape(figure.title)}"></a>
<p>{figure.says} <span class="quiet">{links}</span></p>
<p class="formula">{figure.formula}</p>
<pre><code>{html.escape(figure.code)}
plots.save(chart, "{figure.name}.svg")</code></pre>
<pre><code>discreet plot {figure.name} -o {figure.name}.svg</code></pre>
<table>
{rows}
</table>
</section>
"""
