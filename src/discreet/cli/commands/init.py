"""`discreet init`: a policy to be finished by the steward, made from names and types of columns alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.commands.serve import see_installed
from discreet.cli.options import Usage
from discreet.cli.place import source_of
from discreet.cli.suggest import EXAMPLE_BUDGET, EXAMPLE_ROWS, EXAMPLES, is_value, suggest, units
from discreet.cli.wizard import decide
from discreet.escaping import toml_text

if TYPE_CHECKING:
    from discreet.engines.engine import Engine


def command(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="Parquet, CSV or DuckDB.", show_default=False)
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write it there, not to stdout.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    web: Annotated[
        bool, typer.Option("--web", help="Decide on a page in the browser, which ends in the first answer.")
    ] = False,
) -> None:
    """Write a policy for a file, to be finished by you.

    Only the names and types of the columns are looked at, never a value: nothing in the text depends on the
    people in the file. The lines marked DECIDE are yours; until they are decided, the policy does not load.

    \b
    Examples:
      discreet init visits.parquet
      discreet init visits.parquet -o policy.toml
      discreet init visits.parquet --web                       (no set-up: on this machine alone)
    """  # noqa: D301
    if output is not None and output.exists() and not force:
        raise Usage(f"{output} exists; --force overwrites it")
    with source_of("FILE"):
        url, tables = read_schema(source)
    if any(not kind and is_value(name) for columns in tables.values() for name, kind in columns):
        typer.echo(
            "warning: some names of columns are numbers, dates or times. If the first line of the file is a row, "
            "write a line of names above it: names are public.",
            err=True,
        )
    home = output.absolute().parent if output is not None else Path.cwd()
    if web:
        see_installed()
        decide(_beside(url, home), tables, output)
        return
    text = scaffold(_beside(url, home), tables)
    if output is None:
        typer.echo(text, nl=False)
        return
    output.write_text(text, "utf-8")
    decisions = text.count("# DECIDE")
    typer.echo(f"wrote {output}; decide its {decisions} lines marked DECIDE, then ask", err=True)


Columns = Sequence[tuple[str, str]]
"""Name and type of each column; the type of a column of a CSV file is empty."""


def read_schema(source: str) -> tuple[str, dict[str, Columns]]:
    """The url of a source and the columns of its tables, by name.

    A CSV file has no types but in its values, so of one only the header line is read.

    Raises:
        SourceError: the source cannot be opened.
    """
    from discreet.engines.duckdb.sources.csv_text import header
    from discreet.engines.duckdb.sources.urls import kind_of, read_url, table_name
    from discreet.engines.registry import opener, without_password
    from discreet.engines.sources import open_source

    if opener(source) is not None:
        return without_password(source), _columns(open_source(source))
    kind, path, inner = read_url(source)
    kind = kind or kind_of(path)
    url = f"{kind}:{path}" + (f"#{inner}" if inner else "")
    if kind == "csv":
        return url, {table_name(path): [(name, "") for name in header(path).names]}
    return url, _columns(open_source(url))


def _columns(engine: Engine) -> dict[str, Columns]:
    try:
        return {t: [(c.name, c.type.name) for c in cs.values()] for t, cs in engine.schema().items()}
    finally:
        engine.close()


def scaffold(url: str, tables: Mapping[str, Columns]) -> str:
    """The text of a policy whose decisions are still open.

    Example:
        >>> text = scaffold("csv:visits.csv", {"visits": [("patient_id", ""), ("age", "")]})
        >>> '# privacy_unit = "patient_id"' in text
        True
    """
    parts = [_PREFACE, _BUDGET, f"[source]\nurl = {toml_text(url)}\n"]
    parts += [_table(name, columns, several=len(tables) > 1) for name, columns in tables.items()]
    return "\n".join(parts)


_PREFACE = """\
# A policy, made from the names and types of the columns; no value was read.
# The lines marked DECIDE are yours: remove the "# " in front and write your decision. Decide from your
# knowledge of the subject, never by looking at this data: this file is as good as public. Every key is explained
# in docs/policy.md.
"""
_BUDGET = f"""\
[budget]
# epsilon = {EXAMPLE_BUDGET}   # DECIDE: all that may ever be spent; smaller protects more, above 10 little
"""


def _table(name: str, columns: Columns, several: bool) -> str:
    decide, other = _unit_lines(columns, several)
    width = max(len(line) for line, _ in decide)
    lines = [
        f"[tables.{_key(name)}]",
        *(f"# {line.ljust(width)}   # DECIDE: {words}" for line, words in decide),
        *(f"#   or # {line}   ({words})" for line, words in other),
        "",
        f"[tables.{_key(name)}.columns]",
        "# bounds: values outside are clamped. Needed to sum and average; whole numbers can be grouped by them, too.",
        "# keys: the public groups, spelled as in the data. Needed to group by a text.",
    ]
    if any(not kind for _, kind in columns):
        lines += [
            "# A CSV file has no types, and no value decides one: bounds make a number or a date, keys their own type,",
            "# and all else is a text, unless type says integer, float, boolean, date, timestamp or text.",
        ]
    lines.append("# Nobody can sum or group by a column that is left unchanged.")
    rules = [_rule(*column) for column in columns]
    width = max(len(rule) for rule, _ in rules)
    return "\n".join([*lines, *(f"# {rule.ljust(width)}   {words}".rstrip() for rule, words in rules)]) + "\n"


def _unit_lines(columns: Columns, several: bool) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The lines that make a table private, which work together as they stand, and the lines that may replace them."""
    guesses = units(list(columns))
    rows = (f"max_rows = {EXAMPLE_ROWS}", "how many rows of one unit count; more rows need more noise")
    row = ('privacy_unit = "row"', "if nobody has more than one row; without max_rows")
    elsewhere = [
        ('privacy_unit = "TABLE.COLUMN"', "if another table says whose a row is; with max_rows and"),
        ('through = { COLUMN = "TABLE.KEY" }', "the column that holds the key of a row there"),
    ]
    other = elsewhere if several else []
    other += [("public = true", "if nothing in it is about people; without the rest")] if several else []
    if guesses:
        first = (f"privacy_unit = {toml_text(guesses[0])}", "a guess from its name: who is to be protected?")
        more = [(f"privacy_unit = {toml_text(guess)}", "a guess, too") for guess in guesses[1:]]
        return [first, rows], [*more, row, *other]
    first = ('privacy_unit = "row"', "only if nobody has more than one row")
    column = (
        'privacy_unit = "COLUMN"',
        "the column that tells the people apart who are to be protected; with max_rows",
    )
    return [first], [column, rows, *other]


def _rule(name: str, kind: str) -> tuple[str, str]:
    """The line about a column, and the words beside it."""
    item = kind.removesuffix("S")
    found = suggest(name, item)
    rule, why = (EXAMPLES[item], "") if found is None else found
    if item != kind:
        rule = ", ".join(part for part in (rule, "max_items = 3") if part)
        why = "a list: how its items are, and how many of one row UNNEST takes"
    elif not kind and found is None:
        why = 'or bounds = [0, 100], keys = ["A", "B"], type = "integer"'
    elif not kind and re.fullmatch(r"bounds = \[-?\d+, -?\d+\]", rule):
        rule += ', type = "integer"'  # else bounds make a fraction of it, which cannot be grouped by
    words = "; ".join(each for each in (kind.lower(), why) if each)
    return f"{_key(name)} = {{ {rule} }}".replace("{  }", "{}"), f"# {words}" if words else ""


def _beside(url: str, home: Path) -> str:
    """The url with its path from the folder of the policy, when it lies in there."""
    kind, _, path = url.partition(":")
    try:
        return f"{kind}:{Path(path).relative_to(home).as_posix()}"
    except ValueError:
        return url


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_text(name)
