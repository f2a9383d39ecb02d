"""CSV as it is found in the wild: every row is read, no value raises, and none changes how another is read."""

from __future__ import annotations

import contextlib
import datetime as dt
import gzip
import secrets
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import DEEP, examples, in_turn

from discreet.engines.duckdb.connection import connect
from discreet.engines.duckdb.sources.csv import import_csv
from discreet.engines.engine import Engine
from discreet.engines.schema import Type
from discreet.engines.sources import open_source
from discreet.errors import SourceError


def read(
    path: Path, data: bytes, types: dict[str, Type | str] | None = None
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the types and the values of the columns of a file; without types they are found, as of a public file."""
    path.write_bytes(data)
    engine = open_source({"t": path}, public=["t"]) if types is None else open_source(path, "t", types)
    found = {name: column.type.name for name, column in engine.schema()["t"].items()}
    values: dict[str, Any] = engine.public("t").to_pydict()
    engine.close()
    return found, values


CASES: list[tuple[bytes, dict[str, str], dict[str, list[object]]]] = [
    (b"a,b\r1,x\r2,y\r", {"a": "INTEGER", "b": "TEXT"}, {"a": [1, 2], "b": ["x", "y"]}),
    (b"a,b\r\n1,x\r\n2,y\r\n", {"a": "INTEGER", "b": "TEXT"}, {"a": [1, 2], "b": ["x", "y"]}),
    (b"\xef\xbb\xbfa\n1\n", {"a": "INTEGER"}, {"a": [1]}),
    (b"income\n50000\n1.00E+05\n", {"income": "INTEGER"}, {"income": [50000, 100000]}),
    (b"x\n1\n1.5\n1e-3\n", {"x": "FLOAT"}, {"x": [1.0, 1.5, 0.001]}),
    (b"x\n1\n100.0\n", {"x": "FLOAT"}, {"x": [1.0, 100.0]}),
    (b"x\n1\nnan\ninf\n-inf\n", {"x": "FLOAT"}, {"x": [1.0, None, float("inf"), -float("inf")]}),
    (b"x\n1\n99999999999999999999\n", {"x": "FLOAT"}, {"x": [1.0, 1e20]}),
    (b"zip\n01234\n12345\n", {"zip": "TEXT"}, {"zip": ["01234", "12345"]}),
    (b"x\n1\nNA\n\n3\n", {"x": "INTEGER"}, {"x": [1, None, None, 3]}),
    (b"s\nNA\nx\n", {"s": "TEXT"}, {"s": ["NA", "x"]}),
    (b"x\n1_000\n2\n", {"x": "TEXT"}, {"x": ["1_000", "2"]}),
    (b"x\n0x10\n2\n", {"x": "TEXT"}, {"x": ["0x10", "2"]}),
    (b"b\ntrue\nFALSE\n", {"b": "BOOLEAN"}, {"b": [True, False]}),
    (b"d\n2024-01-31\n2024-2-1\n", {"d": "DATE"}, {"d": [dt.date(2024, 1, 31), dt.date(2024, 2, 1)]}),
    (b"d\n2024-02-31\n2024-01-01\n", {"d": "TEXT"}, {"d": ["2024-02-31", "2024-01-01"]}),
    (
        b"t\n2024-01-31 12:00:00\n2024-01-31T12:00:00Z\n2024-01-31T12:00:00+02:00\n",
        {"t": "TIMESTAMP"},
        {"t": [dt.datetime(2024, 1, 31, 12), dt.datetime(2024, 1, 31, 12), dt.datetime(2024, 1, 31, 10)]},
    ),
    (b'a,b\n"x, y",1\n"say ""hi""",2\n"two\nlines",3\n', {"a": "TEXT", "b": "INTEGER"},
     {"a": ["x, y", 'say "hi"', "two\nlines"], "b": [1, 2, 3]}),
    (b"a,b\n1,2\n3\n7,8\n", {"a": "INTEGER", "b": "INTEGER"}, {"a": [1, 3, 7], "b": [2, None, 8]}),
    (b"a;b\n1;2,5\n3;4,5\n", {"a": "INTEGER", "b": "TEXT"}, {"a": [1, 3], "b": ["2,5", "4,5"]}),
    ("a\ncaf\xe9\n".encode("latin-1"), {"a": "TEXT"}, {"a": ["caf\xe9"]}),
    ("a,b\n1,\xe9\n".encode("utf-16"), {"a": "INTEGER", "b": "TEXT"}, {"a": [1], "b": ["\xe9"]}),
    (b"a,b\n", {"a": "TEXT", "b": "TEXT"}, {"a": [], "b": []}),
    (b"a,b\n1,\n2,\n", {"a": "INTEGER", "b": "TEXT"}, {"a": [1, 2], "b": [None, None]}),
    (b"Time spent (minutes),a \"q\"\n1,2\n", {"Time spent (minutes)": "INTEGER", 'a "q"': "INTEGER"},
     {"Time spent (minutes)": [1], 'a "q"': [2]}),
]  # fmt: skip


@pytest.fixture(scope="module")
def untidy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """All files, opened together."""
    folder = tmp_path_factory.mktemp("untidy")
    files = {f"t{at}": folder / f"{at}.csv" for at in range(len(CASES))}
    for file, (data, *_) in zip(files.values(), CASES, strict=True):
        file.write_bytes(data)
    with contextlib.closing(open_source(files, public=list(files))) as engine:
        yield engine


@pytest.mark.parametrize("at", range(len(CASES)))
def test_untidy_files(untidy: Engine, at: int) -> None:
    _, types, values = CASES[at]
    assert {name: column.type.name for name, column in untidy.schema()[f"t{at}"].items()} == types
    assert untidy.public(f"t{at}").to_pydict() == values


def test_gzip_and_tabs(tmp_path: Path) -> None:
    assert read(tmp_path / "t.csv.gz", gzip.compress(b"a,b\n1,2\n"))[1] == {"a": [1], "b": [2]}
    assert read(tmp_path / "t.tsv", b"a\tb\n1\t2\n")[1] == {"a": [1], "b": [2]}


def test_one_late_value_decides_the_type(tmp_path: Path) -> None:
    """A sniff of the first rows would call this column an integer, and fail or lose the last value."""
    types, values = read(tmp_path / "t.csv", b"x\n" + b"1\n" * 50_000 + b"2.5\n")
    assert types == {"x": "FLOAT"}
    assert values["x"][-1] == 2.5
    assert read(tmp_path / "t.csv", b"x\n" + b"1\n" * 50_000 + b"?\n")[0] == {"x": "TEXT"}


def test_fixed_types_do_not_depend_on_the_data(tmp_path: Path) -> None:
    data = b"i,f,b,d,t\n1,1,true,2024-01-01,2024-01-01 00:00:00\n1.5,x,7,inf,epoch\n0x10,,,,\n1e3,1e3,x,,\n1_0,1_0,,,\n"
    types: dict[str, Type | str] = {
        "I": Type.INTEGER,
        "f": "float",
        "b": "BOOLEAN",
        "d": "DATE",
        "t": "TIMESTAMP",
    }
    found, values = read(tmp_path / "t.csv", data, types)
    assert found == {"i": "INTEGER", "f": "FLOAT", "b": "BOOLEAN", "d": "DATE", "t": "TIMESTAMP"}
    assert values["i"] == [1, None, None, 1000, None]
    assert values["f"][:4] == [1.0, None, None, 1000.0]
    assert values["d"] == [dt.date(2024, 1, 1), None, None, None, None]
    assert read(tmp_path / "t.csv", b"x\n1\n2\n", {"x": Type.TEXT}) == ({"x": "TEXT"}, {"x": ["1", "2"]})


def test_types_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="type LIST"):
        read(tmp_path / "t.csv", b"x\n1\n", {"x": "LIST"})


@pytest.mark.parametrize("data", [b"", b"\n1,2\n", b"\x1f\x8bnone"])
def test_what_is_no_csv(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(SourceError, match="cannot be read as a CSV file"):
        read(tmp_path / ("t.csv.gz" if data[:1] == b"\x1f" else "t.csv"), data)


def test_a_quote_that_is_never_closed_is_no_failure(tmp_path: Path) -> None:
    data = b'a,b\n1,2\n"never closed,2\n' + b"y,3\n" * 10
    assert read(tmp_path / "t.csv", data, {})[0] == {"a": "TEXT", "b": "TEXT"}


ODD = [
    "1015 EUR", "n.k.", "1,5", "1;2;3;4;5;6", "x|y|z", "a\tb", "caf\xe9".encode("latin-1"), b"\xff\xfe\x00", '"',
    "1e999", "'", "#", "0x10", "\\", "2024-13-45", "NaN", "\r", " ", "x" * 3_000_000,
]  # fmt: skip
"""Cells of one row that must change nothing of another."""


# A deep run writes each into both columns.
WHERE = in_turn(ODD, [(1,), (2,)] if not DEEP else [(1, 2)])
Read = dict[str, tuple[list[str], dict[str, Any]]]


@pytest.fixture(scope="module")
def read_all(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Types and values of a file without an odd cell, and of one for each odd cell and column, opened together."""
    folder = tmp_path_factory.mktemp("odd")
    lines = [b"id,income,city", b"1,1000,K\xc3\xb6ln", b"2,1015,K\xc3\xb6ln"]
    files = {"plain": b"\n".join([*lines, b""])}
    for at, (odd, columns) in enumerate(WHERE):
        for column in columns:
            row = [b"3", b"7", b"Bonn"]
            row[column] = odd if isinstance(odd, bytes) else odd.encode()
            files[f"t{at}_{column}"] = b"\n".join([*lines, b",".join(row), b""])
    for name, data in files.items():
        (folder / f"{name}.csv").write_bytes(data)
    types = {name: {"income": "float"} for name in files}
    with contextlib.closing(
        open_source({name: folder / f"{name}.csv" for name in files}, types=types)
    ) as engine:
        return {
            name: ([column.type.name for column in columns.values()], engine.public(name).to_pydict())
            for name, columns in engine.schema().items()
        }


@pytest.mark.parametrize("at", range(len(WHERE)), ids=[repr(odd)[:12] for odd, _ in WHERE])
def test_one_odd_cell_changes_nothing_of_another_row(read_all: Read, at: int) -> None:
    """Neither a type, nor a name, nor the value of any row before it or (but for its quote) after it."""
    types, values = read_all["plain"]
    assert types == ["TEXT", "FLOAT", "TEXT"]
    for column in WHERE[at][1]:
        found = read_all[f"t{at}_{column}"]
        assert found[0] == types
        assert {name: some[:2] for name, some in found[1].items()} == values


def test_a_file_whose_types_are_found_would_be_caught(tmp_path: Path) -> None:
    """The planted fault: with types by looking, the odd cell changes the type."""
    lines = b"id,income\n1,1000\n2,1015\n"
    assert read(tmp_path / "t.csv", lines)[0]["income"] == "INTEGER"
    assert read(tmp_path / "t.csv", lines + b"3,1015 EUR\n")[0]["income"] == "TEXT"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_each_line_is_decoded_by_itself(tmp_path: Path, end: str) -> None:
    data = (
        b"city"
        + end.encode()
        + "K\xf6ln".encode()
        + end.encode()
        + "K\xf6ln".encode("latin-1")
        + end.encode()
    )
    assert read(tmp_path / "t.csv", data, {})[1] == {"city": ["K\xf6ln", "K\xf6ln"]}


def test_names_of_columns(tmp_path: Path) -> None:
    assert list(read(tmp_path / "t.csv", b"a,A,,a_1,it's\n1,2,3,4,5\n", {})[1]) == [
        "a",
        "A_1",
        "column2",
        "a_1_1",
        "it's",
    ]


@settings(max_examples=examples(10, 60), deadline=None)
@given(
    values=st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='",;|\t'))
        | st.sampled_from(
            ["1", "-1", "1e400", "1e5", "1.5", "nan", "inf", "true", "2024-01-01", "9" * 30, "+1", "0x1"]
        ),
        min_size=1,
        max_size=30,
    ),
    kind=st.sampled_from([Type.INTEGER, Type.FLOAT, Type.BOOLEAN, Type.DATE, Type.TIMESTAMP, Type.TEXT]),
)
def test_no_value_raises_or_loses_a_row(
    tmp_path_factory: pytest.TempPathFactory, values: list[str], kind: Type
) -> None:
    """Whatever the values, of found or fixed types, there is one row for each."""
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_text("n,x\n" + "".join(f'{i},"{value}"\n' for i, value in enumerate(values)), "utf-8")
    for types in ({}, {"x": kind}):
        name = f"t{secrets.token_hex(8)}"
        import_csv(connection(), str(path), name, {"n": Type.INTEGER, **types}, look=not types)
        table = connection().sql(f"FROM {name}").to_arrow_table()
        assert table["n"].to_pylist() == list(range(len(values)))


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """One for all examples."""
    return connect()


def test_the_file_may_go_once_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    engine = open_source(path)
    path.unlink()
    assert engine.integers("SELECT count(a)::BIGINT AS s FROM t").to_pylist() == [{"s": 1}]
