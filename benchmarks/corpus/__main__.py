"""`make corpus`: ask every question, print each line and the totals, save them; exit 1 when an answer is wrong."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.corpus.data import load, sources
from benchmarks.corpus.judge import NEEDLESS, RIGHT, VERDICTS, WRONG, Verdict, judge
from benchmarks.corpus.question import read
from benchmarks.corpus.reasons import REASONS

RESULTS = Path(__file__).parent.parent / "results" / "corpus.json"


def main(chosen: Sequence[str]) -> int:
    """Ask the questions of the data sets that are named, or of all of them."""
    console = Console()
    found = []
    for verdict in verdicts(chosen):
        found.append(verdict)
        question = verdict.question
        if verdict.verdict != RIGHT:
            console.print(
                f"{verdict.verdict}: {question.source} {question.name}: {question.words}", style="bold"
            )
            console.print(f"  {verdict.why} {verdict.fix}", markup=False, highlight=False)
        else:
            console.print(f"{verdict.verdict}: {question.source} {question.name}: {question.words}")
    console.print(totals(found))
    save(found)
    return 1 if any(one.verdict == WRONG for one in found) else 0


def verdicts(chosen: Sequence[str] = ()) -> Iterator[Verdict]:
    """The verdicts on the questions of some data sets, one at a time."""
    for folder in sources():
        if chosen and folder.name not in chosen:
            continue
        data = load(folder)
        for question in read(folder):
            yield judge(question, data)


def totals(found: Sequence[Verdict]) -> Table:
    """How often each verdict was given, by data set."""
    shown = Table(title="corpus")
    for heading in ("data set", "questions", *VERDICTS):
        shown.add_column(heading, justify="left" if heading == "data set" else "right")
    for source in [*dict.fromkeys(one.question.source for one in found), "all"]:
        own = [one for one in found if source in (one.question.source, "all")]
        many = Counter(one.verdict for one in own)
        shown.add_row(source, str(len(own)), *(str(many[verdict]) for verdict in VERDICTS))
    needless = sum(one.verdict == NEEDLESS for one in found)
    shown.caption = f"{100 * needless / max(1, len(found)):.1f} % refused without need"
    return shown


def save(found: Sequence[Verdict]) -> None:
    """Write every verdict to results/corpus.json."""
    RESULTS.parent.mkdir(exist_ok=True)
    lines = [
        {
            "source": one.question.source,
            "question": one.question.name,
            "asks": one.question.words,
            "sql": one.question.sql,
            "verdict": one.verdict,
            "reason": REASONS.get(one.question.reason, ""),
            "why": one.why,
            "fix": one.fix,
        }
        for one in found
    ]
    many = Counter(one.verdict for one in found)
    record = {"totals": {verdict: many[verdict] for verdict in VERDICTS}, "questions": lines}
    RESULTS.write_text(json.dumps(record, indent=2, default=str) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
