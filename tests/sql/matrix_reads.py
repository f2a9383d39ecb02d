"""Neighbouring sources by how they are read: frames, Parquet files and CSV files, where one row has an odd value."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa
from pyarrow import parquet
from tests.engines.duckdb.sources.test_csv import ODD
from tests.engines.duckdb.sources.test_total import PLAIN
from tests.sql.matrix_tables import CHOSEN, Tables, _nothing, make_on_postgres

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.schema import Type
from discreet.errors import SourceError

QUESTIONS = [
    "SELECT COUNT(x) AS v, COUNT(*) AS w FROM t",
    f"SELECT COUNT(x) AS v FROM t WHERE id >= {CHOSEN}",
    "SELECT COUNT(*) AS v FROM t WHERE x IS NULL",
    "SELECT COUNT(DISTINCT x) AS v FROM t",
    f"SELECT COUNT(*) FILTER (WHERE id >= {CHOSEN} AND x IS NOT NULL) AS v FROM t",
    "SELECT x AS k, COUNT(*) AS v FROM t GROUP BY 1",
]
DECLARED: dict[str, dict[str, Type] | None] = {"t": {"id": Type.INTEGER, "n": Type.INTEGER, "x": Type.FLOAT}}
"""What a policy says of the columns of a CSV file, which decides their types."""


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="discreet-matrix-")


def kinds() -> list[str]:
    """Each source with each odd value; of the odd cells of CSV files those that are short.

    A quote that is never closed takes the rows behind it into one cell, as the tests of CSV files say.
    """
    frames = [f"{source} {name}" for name in PLAIN for source in ("arrow", "parquet")]
    return frames + [f"csv {at}" for at, odd in enumerate(ODD) if len(odd) < 100 and odd != '"']


def tables(kind: str) -> Tables:
    """A table without the odd row, with it at its end, and with it at its beginning."""
    source, _, name = kind.partition(" ")
    made = Tables(["without", "at the end", "at the beginning"], [[0, 1, 2]], [[1, 2]], set())
    made.columns = {"x": kind}
    for at, order in enumerate(([0, 1], [0, 1, 2], [2, 0, 1])):
        table: Any = _csv(int(name), order, at) if source == "csv" else _frame(name, order)
        if table is None:
            return Tables([], [], [], set())
        if source == "parquet":
            path = os.path.join(_folder().name, f"{name} {at}.parquet")
            try:
                parquet.write_table(table, path)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                return Tables([], [], [], set())  # Arrow does not write it to Parquet
            table = path
        try:
            made.engines.append(DuckDBEngine.open({"t": table}, DECLARED if source == "csv" else None))
        except SourceError:
            return Tables([], [], [], set())
        made.switch.append(_nothing)
    return made


def _frame(name: str, order: Sequence[int]) -> pa.Table | None:
    sound, odd = PLAIN[name]
    if pa.types.is_dictionary(sound.type):
        return None  # chunks with dictionaries of their own
    cells = [sound.slice(0, 1), sound.slice(1, 1), odd]
    x = pa.chunked_array([cells[at] for at in order], sound.type)
    return pa.table({"id": [(0, 1, CHOSEN)[at] for at in order], "n": [1] * len(order), "x": x})


def _csv(number: int, order: Sequence[int], at: int) -> str:
    odd: Any = ODD[number]
    lines = [b"0,1,1000", b"1,1,1015", b"500,1," + (odd if isinstance(odd, bytes) else odd.encode())]
    path = os.path.join(_folder().name, f"{number} {at}.csv")
    with open(path, "wb") as file:
        file.write(b"\n".join([b"id,n,x", *(lines[row] for row in order), b""]))
    return path


@cache
def twins() -> Tables:
    """Tables of PostgreSQL with the columns "ID" and id, each without one person, who has five rows."""
    columns = {'"ID"': "bigint", "id": "bigint", "v": "bigint", "n": "bigint", "m": "bigint"}
    cells = [f"{at // 5}, {at}, 1, {at % 10}, {at % 3}" for at in range(30)]
    lines: list[list[tuple[tuple[int, ...], int]]] = [
        [((), at) for at in range(30) if at // 5 != missing] for missing in (-1, 0, 3)
    ]
    made = Tables(["everybody", "without person 0", "without person 3"], [[0, 1, 2]], [[1, 2]], set())
    make_on_postgres(made, columns, cells, lines, (columns, ["1, 1, 1, 1, 1"]), "twins")
    return made
