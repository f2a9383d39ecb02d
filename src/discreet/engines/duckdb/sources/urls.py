"""Names of files and urls: the kind of a source, its path and the name of its table."""

from __future__ import annotations

import os
import re
from glob import has_magic
from pathlib import Path

from discreet.engines.duckdb.sources.regular import see_no_pipe
from discreet.errors import SourceError

SUFFIXES = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "duckdb": (".duckdb", ".ddb", ".db"),
}
SHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
"""The suffixes of workbooks, which no kind of source reads."""


def read_url(url: str) -> tuple[str, str, str | None]:
    """Split `kind:path#table`; the kind may be left to the suffix of the file, the table to the caller."""
    scheme, _, rest = url.partition(":")
    if scheme.lower() in SUFFIXES:
        kind, path = scheme.lower(), rest.removeprefix("//")
    elif re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", url):
        raise SourceError(
            f"Sources of kind {scheme}: are not supported.",
            "Use parquet:, csv: or duckdb: and a path, postgresql:// or spark:, or pass a frame.",
        )
    else:
        kind, path = "", url
    inner = None
    if "#" in path and not os.path.exists(path) and kind in ("", "duckdb"):
        path, inner = path.rsplit("#", 1)
    path = os.path.abspath(os.path.expanduser(path))
    return kind or kind_of(path), path, inner


def kind_of(path: str) -> str:
    """The kind of a source by its suffix; a folder holds Parquet files."""
    for kind, suffixes in SUFFIXES.items():
        if path.lower().endswith(suffixes) and not os.path.isdir(path):
            return kind
    if os.path.isdir(path):
        return "parquet"
    if path.lower().endswith(SHEETS):
        raise SourceError(
            f"The source {Path(path).name} is a workbook, which is not read.",
            "Save its sheet as CSV, and name that file.",
        )
    see_no_pipe(path)
    raise SourceError(
        f"The kind of the source {Path(path).name} cannot be told from its name.",
        'Write it in front, as in "parquet:path", "csv:path" or "duckdb:path".',
    )


def table_name(path: str) -> str:
    """Make a table name from a file name: `my visits.csv.gz` becomes my_visits.

    Example:
        >>> table_name("/data/2024-visits.parquet"), table_name("/data/parts/*.parquet")
        ('t_2024_visits', 'parts')
    """
    pure = Path(path)
    while has_magic(pure.name) and not pure.exists():
        pure = pure.parent
    stem = pure.name.split(".")[0] if not pure.name.startswith(".") else pure.name.strip(".")
    name = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in stem) or "data"
    return name if not name[0].isdigit() else f"t_{name}"
