"""The report of a synthetic table: bounds of the errors of its marginals, and its limits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from discreet.escaping import markup
from discreet.escaping import name as one_line
from discreet.escaping import table as html_table
from discreet.records import dataclass
from discreet.synthetic.errors import MarginalError

PRESERVED: Final = (
    "names, types, keys and bounds of the columns, and NULLs as a value of their own",
    "the distribution of each column, and of the sets of columns that were measured, within the bounds shown",
)
NOT_PRESERVED: Final = (
    "relations of columns that were not measured together: they follow from the measured ones alone",
    "values inside an interval, which are drawn evenly from it",
    "which rows belong to one unit, and the order of rows",
    "rows that were dropped before counting: beyond max_rows of a unit, or with a value that is no key",
    "groups with fewer rows than the noise",
)

SHARE: Final = "<p>Which share of the rows is misplaced:</p>"

STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:auto;padding:1rem}"
    "th,td{padding:.1rem 1.5rem .1rem 0;text-align:left;vertical-align:top}"
    "td:first-child{min-width:8rem;overflow-wrap:anywhere}"
    "figure{margin:1rem 0;padding:.5rem;background:#fff;border-radius:.4rem}svg{max-width:100%;height:auto}"
    ".narrow{display:none}"
    "@media(max-width:45rem){.wide{display:none}.narrow{display:block}th,td{padding-right:.7rem}}"
    "@media(prefers-color-scheme:dark){body{background:#15181c;color:#e8e6e1}}"
)
"""Of the page: the picture stands on white, as its colours are made for that, and is drawn for a phone as well."""


@dataclass(frozen=True)
class SyntheticReport:
    """The errors of the marginals of a synthetic table, from released numbers alone; it reads no data.

    Attributes:
        names: of the columns.
        errors: of the marginals of single columns and of the workload. All bounds hold together with 95 %.
        rows: about how many rows the data has, from the noisy counts.
        made: of which table it was made, and for which loss, in words for the page.
    """

    names: tuple[str, ...]
    errors: tuple[MarginalError, ...]
    rows: float
    made: str = ""

    def of_order(self, order: int) -> list[MarginalError]:
        """The errors of the marginals of so many columns, the least bound first."""
        found = [error for error in self.errors if len(error.columns) == order]
        return sorted(found, key=lambda error: (error.most is None, error.most or 0.0))

    @property
    def orders(self) -> list[int]:
        """The numbers of columns of the marginals."""
        return sorted({len(error.columns) for error in self.errors})

    def words(self, columns: Sequence[int]) -> str:
        """The names of some columns, on one line."""
        return " and ".join(one_line(self.names[column]) for column in columns)

    def lines(self) -> list[str]:
        """The report in a few lines."""
        out = []
        for order in self.orders:
            found = self.of_order(order)
            measured = [error for error in found if error.measured]
            known = [error.most for error in found if error.most is not None]
            bound = (
                f"; at most {known[len(known) // 2]:.1%} of the rows misplaced in the middle one"
                if known
                else ""
            )
            out.append(f"{order}-way: {len(measured)} of {len(found)} marginals measured{bound}")
        return out

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "rows": self.rows,
            "marginals": [
                {
                    "columns": [self.names[column] for column in error.columns],
                    "measured": error.measured,
                    "most": error.most,
                }
                for error in self.errors
            ],
            "preserved": list(PRESERVED),
            "not_preserved": list(NOT_PRESERVED),
        }

    def plot(self, size: str = "slide") -> Any:
        """The bounds of all marginals by their order, as an Altair chart; needs the extra `plots`."""
        from discreet.synthetic.picture import picture_of_errors

        return picture_of_errors(self, size)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the report: a page .html with its picture and tables, or the picture alone as .svg, .png or .json.

        Raises:
            InvalidParameter: the ending is another one, or the folder is not there.
            MissingExtra: the libraries that draw are not installed.
        """
        from discreet.plots.render import check_path, save, svg

        file = check_path(path)
        if file.suffix.lower() != ".html":
            return save(self.plot(), file)
        file.write_text(self._page(svg(self.plot()), svg(self.plot("column"))), "utf-8")
        return file

    def _page(self, wide: str, narrow: str) -> str:
        drawn = f'<figure class="wide">{wide}</figure><figure class="narrow">{narrow}</figure>'
        made = f"<p>{markup(self.made)}</p>" if self.made else ""
        sections = [f"<h1>Synthetic table</h1>{made}<p>About {self.rows:,.0f} rows were counted.</p>{drawn}"]
        for title, lines in (("Preserved", PRESERVED), ("Not preserved", NOT_PRESERVED)):
            items = "".join(f"<li>{markup(line)}</li>" for line in lines)
            sections.append(f"<h2>{title}</h2><ul>{items}</ul>")
        for order in self.orders:
            rows = [
                (
                    self.words(error.columns),
                    "measured" if error.measured else "not measured",
                    "nothing is known" if error.most is None else f"at most {error.most:.1%}",
                )
                for error in self.of_order(order)
            ]
            sections.append(f"<h2>{order}-way marginals</h2>{SHARE}{html_table(rows)}")
        body = "\n".join(sections)
        return (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Synthetic table</title>'
            '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
            f"<style>{STYLE}</style><body>"
            f"{body}</body></html>\n"
        )
