"""The tables of errors and of times, the verdicts, and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from benchmarks.peers import table as plain
from benchmarks.peers.twelve.measure import ASKED, OURS, Error, Kept, error, seconds

Results = Mapping[str, Mapping[str, Kept]]
"""By case, by way of asking."""
Rows = list[list[str]]

CASES = {
    "row": "Row unit, generated visits",
    "user": "User unit, generated visits",
    "census": "Row unit, census extract",
}
LINES: dict[str, tuple[str, str]] = {
    "count": ("count", "count"),
    "sum": ("sum", "sum"),
    "mean": ("mean", "mean"),
    "variance": ("variance", "variance"),
    "median": ("median (rank)", "median"),
    "ninetieth": ("90 % quantile (rank)", "ninetieth"),
    "two_way": ("two-way table: mean of its 4 tables", "two_way"),
    "two_way_all": ("two-way table: all numbers alike", "two_way"),
    "unknown": ("unknown groups", "unknown"),
    "distinct": ("distinct people", "distinct"),
    "many": ("a person in 50 groups, delta", "many"),
    "running": ("running total", "running"),
    "top": ("top 5: rows missed", "top"),
    "top_counts": ("top 5: their counts", "top"),
}
"""Lines of a table: their names, and the question that fills each."""
COLUMNS = list(dict.fromkeys(asked.name for asked in ASKED if asked.judged and asked.name != OURS.name))
rich, markdown = plain.rich, plain.markdown


def errors(results: Mapping[str, Kept], line: str) -> dict[str, Error]:
    """The error of each library on a line; one that was asked in two ways counts with the better."""
    found: dict[str, Error] = {}
    for asked in ASKED:
        squares = results.get(asked.key, Kept()).squares.get(line)
        if squares:
            mine = error(squares)
            if asked.name not in found or mine.rms < found[asked.name].rms:
                found[asked.name] = mine
    return found


def tables(results: Results) -> Iterator[tuple[str, Rows]]:
    """A table of errors and one of times for each case."""
    for case, title in CASES.items():
        of = results.get(case, {})
        rows = [["", "discreet", *COLUMNS]]
        for line, (name, question) in LINES.items():
            found = errors(of, line)
            if OURS.name in found:
                ours = found[OURS.name]
                cells = [
                    _times(found[column], ours) if column in found else _why(of, column, question)
                    for column in COLUMNS
                ]
                rows.append([name, f"{ours.rms:.3g} ± {ours.rms * ours.relative:.1g}", *cells])
        if len(rows) > 1:
            yield f"{title}: errors, those of others in times ours", rows
    for case, title in CASES.items():
        of = results.get(case, {})
        rows = [["", "discreet", *COLUMNS]]
        for question in dict.fromkeys(question for _, question in LINES.values()):
            took = {
                asked.name: seconds(of[asked.key], question) for asked in reversed(ASKED) if asked.key in of
            }
            if took.get(OURS.name):
                rows.append([question, *(_seconds(took.get(name)) for name in (OURS.name, *COLUMNS))])
        if len(rows) > 1:
            yield f"{title}: seconds of an answer", rows


def _times(theirs: Error, ours: Error) -> str:
    ratio, spread = theirs.times(ours)
    return f"{ratio:.3g} ± {spread:.1g}" if ratio < 1e4 else "> 10,000"


def _why(of: Mapping[str, Kept], column: str, question: str) -> str:
    """A dash, whose reason stands below."""
    return "-"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"


def verdicts(results: Results) -> list[tuple[bool, str]]:
    """Each line on which ours is the greater error by more than three standard errors, or that there is none."""
    found, lines = [], 0
    for case in CASES:
        for line, (name, _) in LINES.items():
            errs = errors(results.get(case, {}), line)
            for column in COLUMNS:
                if column in errs and OURS.name in errs:
                    lines += 1
                    ratio, spread = errs[OURS.name].times(errs[column])
                    if ratio - 3 * spread > 1:
                        text = f"{CASES[case]}, {name}: ours is {ratio:.3g} ± {spread:.1g} times that of {column}"
                        found.append((False, text))
    if not found and lines:
        found.append((True, f"of {lines} comparisons of errors, ours is the greater one on none"))
    return found


def reasons(results: Results) -> Iterator[str]:
    """Who gave no answer, and why, each reason once."""
    for name in dict.fromkeys(asked.name for asked in ASKED):
        told: dict[str, list[str]] = {}
        keys = [asked.key for asked in ASKED if asked.name == name]
        for case in CASES:
            answered = {
                question for key in keys for question in results.get(case, {}).get(key, Kept()).seconds
            }
            for key in keys:
                for question, why in results.get(case, {}).get(key, Kept()).cannot.items():
                    if question not in answered:
                        told.setdefault(why, []).append(f"{question} ({case})")
        for why, where in told.items():
            shown = (
                ", ".join(where) if len(where) < 10 else f"{len(where)} questions of {where[-1].split()[-1]}"
            )
            yield f"{name}: no {shown}: {why}"


def notes(results: Results) -> Iterator[str]:
    """The errors of ways that are not judged."""
    for asked in ASKED:
        if asked.judged:
            continue
        for case in CASES:
            of = results.get(case, {})
            for line, (name, _) in LINES.items():
                squares = of.get(asked.key, Kept()).squares.get(line)
                if squares and of[OURS.key].squares.get(line):
                    times = _times(error(squares), error(of[OURS.key].squares[line]))
                    yield f"{asked.name}, {CASES[case].lower()}, {name}: {times} times ours"


def page(results: Results) -> str:
    """What stands in docs/peers.md."""
    versions: dict[str, None] = {}
    for of in results.values():
        for kept in of.values():
            versions.update(dict.fromkeys(f"{name} {version}" for name, version in kept.versions.items()))
    now = datetime.now(UTC).date().isoformat()
    runs = [len(told) for of in results.values() for kept in of.values() for told in kept.squares.values()]
    parts = [f"{now}; {', '.join(versions)}; {min(runs)} to {max(runs)} answers to each question.\n"]
    parts += [markdown(title, rows) for title, rows in tables(results)]
    parts.append(
        "".join(f"- {'met' if met else 'missed'}: {text}\n" for met, text in verdicts(results))
        + "".join(f"- {text}\n" for text in (*reasons(results), *notes(results)))
    )
    return "\n".join(parts)
