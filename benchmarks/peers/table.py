"""What was measured, as two tables, as Markdown and as verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.table import Table

from benchmarks.peers.measure import OURS, Answers, Error

UNITS = {"row": "row unit", "user": "user unit"}
FASTER = 20.0
Rows = list[list[str]]


@dataclass(frozen=True)
class Result:
    """A peer: its answers and errors by privacy unit; or why it could not be installed."""

    name: str
    answers: dict[str, Answers] = field(default_factory=dict)
    errors: dict[str, dict[str, Error]] = field(default_factory=dict)
    cannot: str = ""

    def seconds(self, unit: str, *, file: bool) -> float | None:
        """Seconds of an answer, from loaded data or from the file; None where there is none."""
        told = self.answers.get(unit)
        if told is None or told.cannot:
            return None
        return told.median + (told.loading if file else 0.0)


def speed(results: Sequence[Result]) -> Rows:
    """Seconds of an answer and how many times ours that is; the first row holds the headings."""
    ours = _ours(results)
    rows = [["", *(f"{name}, {of}" for name in UNITS.values() for of in ("loaded", "from the file"))]]
    for one in results:
        cells = [
            _ratio(one.seconds(unit, file=file), ours.seconds(unit, file=file), " s")
            for unit in UNITS
            for file in (False, True)
        ]
        rows.append([one.name, *cells])
    return rows


def accuracy(results: Sequence[Result]) -> Rows:
    """Root mean square errors and how many times ours they are; the first row holds the headings."""
    ours = _ours(results)
    rows = [["", *(f"{name}, {of}" for name in UNITS.values() for of in ("count", "mean"))]]
    for one in results:
        cells = []
        for unit in UNITS:
            for of in ("count", "mean"):
                theirs = one.errors.get(unit, {}).get(of)
                spread = f" ± {theirs.spread:.2g}" if theirs else ""
                cells.append(_ratio(theirs.rms if theirs else None, ours.errors[unit][of].rms, spread))
        rows.append([one.name, *cells])
    return rows


def reasons(results: Sequence[Result]) -> list[str]:
    """Who could not be installed or could not answer, and why."""
    found = [f"{one.name} is missing: {one.cannot}" for one in results if one.cannot]
    for one in results:
        for unit, told in one.answers.items():
            if told.cannot:
                found.append(f"{one.name}, {UNITS[unit]}: {told.cannot}")
    return found


def verdicts(results: Sequence[Result]) -> list[tuple[bool, str]]:
    """The targets, each with whether it is met: speed by unit, and every line of error.

    An error of ours counts as the greater one only if it is so by more than three standard errors.
    """
    ours, others = _ours(results), [one for one in results if one.name != OURS.name]
    found = []
    for unit, name in UNITS.items():
        for file, of in ((False, "its data loaded"), (True, "from the file")):
            timed = [(seconds, one.name) for one in others if (seconds := one.seconds(unit, file=file))]
            mine = ours.seconds(unit, file=file)
            if timed and mine:
                seconds, fastest = min(timed)
                times = seconds / mine
                text = f"{name}: {times:.3g} times as fast as {fastest}, {of} (at least {FASTER:g})"
                found.append((times >= FASTER, text))
    for one in others:
        for unit, columns in one.errors.items():
            for of, theirs in columns.items():
                mine_of = ours.errors[unit][of]
                apart = mine_of.rms - theirs.rms
                if apart > 3 * (mine_of.spread**2 + theirs.spread**2) ** 0.5:
                    text = f"{UNITS[unit]}, {of}: our error is {mine_of.rms / theirs.rms:.3g} times that of {one.name}"
                    found.append((False, text))
    if not any("our error" in text for _, text in found):
        found.append((True, "no error of ours is greater than that of a peer"))
    return found


def rich(title: str, rows: Rows) -> Table:
    """A table for the terminal."""
    shown = Table(title=title)
    for at, heading in enumerate(rows[0]):
        shown.add_column(heading, justify="right" if at else "left")
    for row in rows[1:]:
        shown.add_row(*row)
    return shown


def markdown(title: str, rows: Rows) -> str:
    """The same table for a page."""
    head, *body = rows
    lines = [[title, *head[1:]], ["---", *["---:"] * (len(head) - 1)], *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def versions(results: Sequence[Result]) -> str:
    """What was compared, as a line for a page."""
    found: dict[str, None] = {}  # in order; two peers may use two versions of one package
    for one in results:
        for told in one.answers.values():
            found.update(dict.fromkeys(f"{name} {version}" for name, version in told.versions.items()))
    return ", ".join(found)


def _ours(results: Sequence[Result]) -> Result:
    return next(one for one in results if one.name == OURS.name)


def _ratio(theirs: float | None, ours: float | None, unit: str) -> str:
    if theirs is None or ours is None:
        return "-"
    return f"{theirs:.3g}{unit}" + (f" ({_times(theirs / ours)}x)" if theirs != ours else "")


def _times(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 99.5 else f"{ratio:.0f}"
