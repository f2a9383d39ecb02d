"""The options that several commands share, and the session that they stand for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.errors import InvalidParameter

PolicyFile = Annotated[
    Path | None,
    typer.Option("-p", "--policy", metavar="FILE",
                 help="The policy; by default $DISCREET_POLICY, or policy.toml in this folder."),
]  # fmt: skip
Sql = Annotated[
    str | None,
    typer.Argument(
        metavar="SQL", show_default=False, help="The question, or a .sql file; - reads it from stdin."
    ),
]
SqlFile = Annotated[
    Path | None, typer.Option("-f", "--file", metavar="FILE", help="Read the question from a file.")
]
Source = Annotated[
    str | None,
    typer.Option(
        "--source", metavar="FILE", help="Ask this file without a policy; with --unit and --budget."
    ),
]
Table = Annotated[
    str | None,
    typer.Option("--table", metavar="NAME", help="The name of its table; by default that of the file."),
]
Unit = Annotated[
    str | None,
    typer.Option("--unit", metavar="COLUMN", help='The column that tells people apart, or "row".'),
]
MaxRows = Annotated[
    int | None,
    typer.Option(
        "--max-rows", metavar="N", help="How many rows of a unit count; by default as the policy says."
    ),
]
MaxGroups = Annotated[
    int | None,
    typer.Option(
        "--max-groups", metavar="N", help="In how many groups a unit is counted as one; else max-rows."
    ),
]
Split = Annotated[
    list[str] | None,
    typer.Option("--split", metavar="COLUMN=TIMES", help="Gives a column more of epsilon; may be repeated."),
]
Delta = Annotated[
    str | None,
    typer.Option(
        "--delta", metavar="DELTA", help="Finds groups that are not public; the budget must grant it."
    ),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option("--bounds", metavar="COLUMN=LO:HI", help="Least and greatest value; may be repeated."),
]
Keys = Annotated[
    list[str] | None,
    typer.Option("--keys", metavar="COLUMN=A,B,…", help="The public groups, also 1..16; may be repeated."),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="COLUMN=TYPE",
        help="How a column of a CSV file is read, such as age=integer; repeated.",
    ),
]
BudgetEpsilon = Annotated[
    str | None, typer.Option("--budget", metavar="EPSILON", help="All that may ever be spent on the file.")
]
LedgerPlace = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="FILE|URL",
        help="Where the budget is kept, instead of beside it: a file, or postgresql://…",
    ),
]
MaxRowsPerGroup = Annotated[
    int | None,
    typer.Option("--max-rows-per-group", metavar="N", help="Rows of a unit that count in one group."),
]
Nonnegative = Annotated[
    bool, typer.Option("--nonnegative", help="Show no count below zero; it has a bias, which the notes say.")
]
Integers = Annotated[
    bool,
    typer.Option(
        "--integers", help="Whole counts also where tables are estimated together; the notes say the bias."
    ),
]
Confidence = Annotated[float, typer.Option("--confidence", metavar="P", help="Of the intervals.")]
Simultaneous = Annotated[
    bool, typer.Option("--simultaneous", help="Intervals that hold all together, instead of each by itself.")
]
NoIntervals = Annotated[
    bool,
    typer.Option(
        "--no-intervals", help="All of epsilon for the numbers of quantiles, none for their intervals."
    ),
]
Within = Annotated[
    list[str] | None,
    typer.Option("--within", metavar="COLUMN=ERROR", help="Find the least epsilon; may be repeated."),
]
GROUP_ROWS = 1000
"""As `session.parameters` has it, which takes long to load."""
GroupRows = Annotated[
    int,
    typer.Option(
        "--group-rows",
        metavar="N",
        help="Rows of a group, where an error depends on it: a public number, for the price shows it.",
    ),
]
Reuse = Annotated[
    bool | None,
    typer.Option(
        "--reuse/--fresh",
        help="Make it of earlier answers as far as they tell, or of none; by default, reuse --within an error.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Usage(typer.BadParameter):
    """Bad usage, said in whole words: exit code 2."""

    def format_message(self) -> str:
        """Return the words without a preface."""
        return self.message


def question(sql: str | None, file: Path | None) -> str:
    """The text of the question, from the argument, a file or stdin."""
    if (sql is None) == (file is None):
        raise Usage("give the question as SQL, or as --file, or - to read it from stdin")
    if sql is not None and sql.lower().endswith(".sql") and len(sql.split()) == 1:
        file = Path(sql)
    if file is not None:
        if not file.exists():
            raise Usage(f"there is no file {file}")
        return file.read_text("utf-8")
    assert sql is not None
    return sys.stdin.read() if sql == "-" else sql


def price_in(text: str) -> str | None:
    """The epsilon of a question that names it in its text, or needs none, as DESCRIBE, SHOW TABLES and EXPLAIN."""
    from discreet.sql.syntax.parse import looks_around
    from discreet.sql.syntax.priced import looked_at, priced

    found = priced(text)
    if found is not None and "epsilon" in found.options:
        return found.options["epsilon"]
    return "1" if looked_at(text) is not None or looks_around(text) else None  # which is not spent


def errors_of(within: list[str] | None) -> dict[str, str] | None:
    """The largest error by column; None where none is given."""
    return dict(read_pair(pair, "--within") for pair in within) if within else None


def read_bounds(text: str) -> tuple[str, tuple[str, str]]:
    """Read `age=0:120`; a date-time, which has colons of its own, belongs into a policy.

    Example:
        >>> read_bounds("Money spent (euros)=0:100")
        ('Money spent (euros)', ('0', '100'))
    """
    column, equals, ends = text.rpartition("=")
    lo, colon, hi = ends.partition(":")
    if not (column and equals and lo and colon and hi) or ":" in hi:
        raise Usage(f'--bounds {text}: write it like "age=0:120"')
    return column, (lo, hi)


def read_pair(text: str, option: str) -> tuple[str, str]:
    """Read `n=50`.

    Example:
        >>> read_pair("n=50", "--within")
        ('n', '50')
    """
    column, equals, number = text.rpartition("=")
    if not (column and equals and number):
        raise Usage(f'{option} {text}: write it like "{"age=integer" if option == "--type" else "n=50"}"')
    return column, number


def read_keys(text: str) -> tuple[str, list[str] | list[int]]:
    """Read `county=A,B,C` or `educ=1..16`; keys that are all written as whole numbers are numbers.

    Example:
        >>> read_keys('county=Kent,"Tyne, Wear"'), read_keys("day=1..3"), read_keys("code=01,02")
        (('county', ['Kent', 'Tyne, Wear']), ('day', [1, 2, 3]), ('code', ['01', '02']))
    """
    from discreet.policy import listed

    column, equals, keys = text.partition("=")
    if not (column and equals and keys):
        raise Usage(f'--keys {text}: write it like "county=A,B,C"')
    try:
        return column, listed.read_keys(keys)
    except InvalidParameter as error:
        raise Usage(f"--keys {text}: {error.cause} {error.fix}") from None
