"""The questions of a data set, read from its `questions.sql`.

Each begins with a line `-- # name: what it asks`. Lines of options follow, `-- option value`:

    -- no answer rows       no private answer exists, for a reason of `reasons.REASONS`
    -- delta 1/1000000      groups are to be found
    -- max_rows 9           as for `Session.sql`
    -- max_groups 9         as for `Session.sql`
    -- within 0.5           how far numbers, or days, may be from the truth: quantiles lie on a grid

The statement comes then. A line `-- truth` is followed by the statement whose answer by plain DuckDB is expected, where
that is another one: public groups without rows are answered, and MIN and MAX are quantiles. A line
`-- instead` is followed by the statement that the refusal proposes, which must be answered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.corpus.reasons import REASONS

HEAD = re.compile(r"^-- # ([^:\n]+): (.*)$", re.MULTILINE)
OPTION = re.compile(r"^-- (no answer|delta|max_rows|max_groups|within) (\S+)$")


@dataclass(frozen=True)
class Question:
    """A question of the corpus.

    Attributes:
        source: the data set that it is asked of.
        name: of the question within its data set.
        words: what it asks.
        sql: how it is asked.
        truth: what plain DuckDB is asked.
        reason: why no private answer exists; empty where one does.
        within: how far a number may be from the truth, beside rounding; in days for dates.
        delta: for groups that are found.
        max_rows: as for `Session.sql`.
        max_groups: as for `Session.sql`.
        instead: what its refusal proposes; empty where nothing is written down.
    """

    source: str
    name: str
    words: str
    sql: str
    truth: str
    reason: str = ""
    within: float = 0.0
    delta: Fraction | None = None
    max_rows: int | None = None
    max_groups: int | None = None
    instead: str = ""


def read(folder: Path) -> list[Question]:
    """The questions of a data set, in the order of the file."""
    _, *pieces = HEAD.split((folder / "questions.sql").read_text())
    blocks = zip(pieces[0::3], pieces[1::3], pieces[2::3], strict=True)
    return [_question(folder.name, name, words, body) for name, words, body in blocks]


def _question(source: str, name: str, words: str, body: str) -> Question:
    options: dict[str, str] = {}
    lines = body.strip().splitlines()
    while lines and (match := OPTION.match(lines[0])):
        options[match[1]] = match[2]
        lines.pop(0)
    whole, _, instead = (
        part.strip().removesuffix(";") for part in "\n".join(lines).partition("\n-- instead\n")
    )
    sql, _, truth = (part.strip().removesuffix(";") for part in whole.partition("\n-- truth\n"))
    assert sql, name
    reason = options.get("no answer", "")
    assert not reason or reason in REASONS, (name, reason)
    return Question(
        source, name, words, sql, truth or sql, reason, float(options.get("within", 0)),
        Fraction(options["delta"]) if "delta" in options else None,
        int(options["max_rows"]) if "max_rows" in options else None,
        int(options["max_groups"]) if "max_groups" in options else None,
        instead,
    )  # fmt: skip
