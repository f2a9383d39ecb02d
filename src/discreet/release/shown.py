"""An answer as text and as HTML: every value escaped, whole keys without separators, every number with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from discreet import far
from discreet.arrow import is_nested, is_number
from discreet.escaping import cell, markup, name, row

if TYPE_CHECKING:
    from fractions import Fraction

    import pyarrow as pa

    from discreet.release.cut_share import CutShare

ROWS = 40
"""How many rows of an answer are shown where it shows itself."""
RULE = 100
"""Characters of the rule above the last column, whose cells may be longer, as histograms are."""
PLAN = "plan"
"""The only column of an answer to EXPLAIN: lines of words, whose indentation is theirs."""
UNKNOWN = "± ?"
"""Stands beside a number whose interval could not be derived."""


class ShownAnswer(Protocol):
    """The parts of an answer that are shown."""

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""

    @property
    def values(self) -> pa.Table:
        """The answer without intervals."""

    @property
    def low(self) -> Mapping[str, pa.Array]:
        """The lower ends of the intervals."""

    @property
    def high(self) -> Mapping[str, pa.Array]:
        """The upper ends."""

    @property
    def without(self) -> tuple[str, ...]:
        """The noisy columns without an interval."""

    @property
    def meanings(self) -> Mapping[str, str]:
        """The content of a column where its name says something else."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about its numbers."""

    @property
    def cut_off(self) -> tuple[CutShare, ...]:
        """The shares that caps and bounds cut off, where they were measured."""

    @property
    def confidence(self) -> float:
        """The confidence of the intervals."""

    @property
    def simultaneous(self) -> bool:
        """Whether they have it all together."""

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss."""

    @property
    def cost(self) -> str:
        """The privacy loss in words."""

    @property
    def replayed(self) -> bool:
        """Whether it is an earlier answer."""

    def __len__(self) -> int: ...


def header(release: ShownAnswer) -> list[str]:
    """The names of the columns, each with its content where its name says something else."""
    means = release.meanings
    return [name(column) + (f" ({means[column]})" if column in means else "") for column in release.columns]


LEAST_WITH_EXPONENT = 1e16
"""Fractions from here up are written with an exponent: a double has no more digits than that."""


def rows(release: ShownAnswer, most: int | None = None) -> list[list[str]]:
    """The rows as text.

    Args:
        release: the answer.
        most: how many rows at most; by default all of them.
    """
    shown = len(release) if most is None else min(most, len(release))
    columns = []
    for column in release.columns:
        values = far.values(release.values.column(column).slice(0, shown))
        if column in release.low:
            ends = [far.values(side[column].slice(0, shown)) for side in (release.low, release.high)]
            columns.append([with_interval(*all_of) for all_of in zip(values, *ends, strict=True)])
        elif column in release.without:
            columns.append([with_interval(value, None, None) for value in values])
        elif release.columns == [PLAN] and not release.epsilon:
            columns.append([name(value) if isinstance(value, str) else exact_text(value) for value in values])
        else:
            columns.append([exact_text(value) for value in values])
    return [list(row) for row in zip(*columns, strict=True)]


def to_the_right(release: ShownAnswer) -> list[bool]:
    """Which columns hold numbers, one in each cell."""
    return [
        (column in release.low and not is_nested(release.values, column)) or is_number(release.values, column)
        for column in release.columns
    ]


def footer(release: ShownAnswer) -> list[str]:
    """The lines under an answer: rows, cost, the meaning of the intervals, and warnings."""
    cost = "free: asked before" if release.replayed else release.cost
    if not release.epsilon:
        cost = (
            "free: made of earlier answers"
            if getattr(release, "known_from", ())
            else "free: nothing private was read"
        )
    said = [f"{len(release):,} row{'s' * (len(release) != 1)}", cost]
    if release.low:
        together = ", for all numbers together" if release.simultaneous else ""
        said.append(f"± covers the noise at {100 * release.confidence:g} %{together}")
    if any(release.values[column].null_count for column in (*release.low, *release.without)):
        said.append("- is no value (NULL), as where the noise leaves no rows to average")
    if release.without:
        said.append(f"{UNKNOWN} is noise for which no interval could be derived")
    cut = [f"cut off: {name(str(share))}" for share in release.cut_off]
    return [" · ".join(said), *cut, *(f"warning: {name(warning)}" for warning in release.warnings)]


def text(release: ShownAnswer) -> str:
    """An answer as a table of text."""
    lines = [header(release), *rows(release, ROWS)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(release.columns))]
    aligned = [
        "  ".join(
            c.rjust(w) if right else c.ljust(w)
            for c, w, right in zip(line, widths, to_the_right(release), strict=True)
        ).rstrip()
        for line in lines
    ]
    aligned.insert(1, rule(widths))
    return "\n".join([*aligned, *_more(release), *footer(release)])


def rule(widths: Sequence[int]) -> str:
    """The line between the names of columns and their cells.

    Example:
        >>> rule([2, 3])
        '──  ───'
        >>> len(rule([2, 5000]))
        104
    """
    return "  ".join("─" * width for width in [*widths[:-1], *(min(width, RULE) for width in widths[-1:])])


def page(release: ShownAnswer) -> str:
    """An answer as a table of HTML."""
    sides = ["right" if right else "left" for right in to_the_right(release)]
    head = row("th", header(release), sides)
    body = "".join(row("td", cells, sides) for cells in rows(release, ROWS))
    foot = "<br>".join(map(markup, [*_more(release), *footer(release)]))
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><small>{foot}</small>"


def _more(release: ShownAnswer) -> list[str]:
    return [f"… {len(release) - ROWS:,} more rows"] if len(release) > ROWS else []


def with_interval(value: object, low: Any, high: Any) -> str:
    """A noisy value with its interval; without one it says that. Each number of a list, a map or a struct has one.

    Example:
        >>> with_interval([31.0, 43.6], [28.0, 41.0], [34.0, 49.0]), with_interval({"n": 9}, {"n": 5}, {"n": 13})
        ('[31.0 ± 3.0, 43.6 [41.0, 49.0]]', '{n: 9 ± 4}')

    A quantile at a value that many rows have lies in one cell of its grid, whose other end is no news:

        >>> with_interval(25_000.0, 25_000.0, 25_000.00049)
        '25,000.00 ± 0.01'
    """
    if value is None:
        return "-"
    if isinstance(value, dict):
        return with_interval([*value.items()], *(end and [*end.items()] for end in (low, high)))
    if isinstance(value, list):
        return _nested(value, low, high)
    if low is None or high is None:
        return f"{_number(value, None)} {UNKNOWN}"
    if not isinstance(value, int | float):
        return f"{exact_text(value)} [{_number(low, None)}, {_number(high, None)}]"
    below, above = value - low, high - value
    if below == above == 0 and isinstance(value, float) and math.isfinite(value):
        return f"{_number(value, _places(value))} ± 0"
    digits = 0 if isinstance(value, int) else _digits(max(abs(below), abs(above)))
    if value and 0 in (below, above) and digits > (places := _places(value) or digits):
        reach = max(below, above) + abs(value - round(value, places))  # from the rounded number
        return f"{_number(value, places)} ± {_number(_rounded_up(reach, places), places)}"
    if math.isclose(below, above, rel_tol=0.05):
        return f"{_number(value, digits)} ± {_number((below + above) / 2, digits)}"
    return f"{_number(value, digits)} [{_number(low, digits)}, {_number(high, digits)}]"


def _nested(values: list[Any], low: list[Any] | None, high: list[Any] | None) -> str:
    """The numbers of a list, or those of a map with their keys, each with its interval."""
    if not values or not isinstance(values[0], tuple):
        nothing = [None] * len(values)
        rows = zip(values, low or nothing, high or nothing, strict=True)
        return f"[{', '.join(with_interval(*row) for row in rows)}]"
    none = [(None, None)] * len(values)
    pairs = zip(values, low or none, high or none, strict=True)
    return f"{{{', '.join(f'{exact_text(key)}: {with_interval(v, l, h)}' for (key, v), (_, l), (_, h) in pairs)}}}"


def exact_text(value: Any) -> str:
    """A value that no noise is in, such as a key: a number without separators, for it may be a year or a code.

    Example:
        >>> exact_text(2013), exact_text(2013.5), exact_text(None), with_interval(2013, 2000, 2026)
        ('2013', '2013.5', '-', '2,013 ± 13')
    """
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.15g}" if math.isfinite(value) else _number(value, None)
    return cell(far.interval_text(value) if type(value).__name__ == "MonthDayNano" else str(value))


def _digits(error: float) -> int:
    """How many digits after the point make sense beside an error: two significant digits of it."""
    if not math.isfinite(error) or error <= 0:
        return 2
    return max(0, 1 - math.floor(math.log10(error)))


def _places(value: float) -> int | None:
    """How many digits after the point six significant ones of a value need, which no error limits; at least two."""
    places = max(2, 5 - math.floor(math.log10(abs(value)))) if value else 2
    return places if places <= 15 else None


def _rounded_up(error: float, places: int) -> float:
    unit = 10.0**places
    return math.ceil(error * unit) / unit


def _number(value: object, digits: int | None) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return exact_text(value)
    if isinstance(value, int) and digits in (None, 0):
        return f"{value:,}"
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "-∞"}.get(value, "-")
    if abs(value) >= LEAST_WITH_EXPONENT and isinstance(value, float):
        return f"{value:.6g}"
    if digits is None:
        return f"{value:,.6g}"
    return f"{value:,.{digits}f}"
