"""No value of a file or a frame makes a read fail, or changes a type: what has no meaning in its type is NULL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.depth import in_turn

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.duckdb.sources.copies import Copies
from discreet.engines.engine import in_batches
from discreet.engines.schema import Type
from discreet.errors import EngineError, SourceError

FAR, END = 2**62, 2**63 - 1
BAD = b"\xff\xfe"
PAIRS = pa.map_(pa.string(), pa.int64())


def texts(values: Sequence[bytes], kind: pa.DataType | None = None) -> pa.Array:
    """Texts that need not be valid."""
    wide = kind == pa.large_string()
    ends = np.cumsum([0, *map(len, values)]).astype(np.int64 if wide else np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(kind or pa.string(), len(values), buffers)


def integers(values: list[int], kind: pa.DataType) -> pa.Array:
    return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


PLAIN: dict[str, tuple[pa.Array, pa.Array]] = {
    **{f"timestamp {unit} {tz}": (integers([0, 10**9], pa.timestamp(unit, tz)), integers([FAR], pa.timestamp(unit, tz)))
       for unit in ("s", "ms") for tz in (None, "UTC")},
    **{f"last {unit} {tz}": (integers([0, 10**9], pa.timestamp(unit, tz)), integers([-END], pa.timestamp(unit, tz)))
       for unit in ("s", "ms", "us", "ns") for tz in (None, "UTC")},
    **{f"duration {unit}": (integers([0, 10**9], pa.duration(unit)), integers([END], pa.duration(unit)))
       for unit in ("s", "ms", "us", "ns")},
    "time s": (integers([0, 1], pa.time32("s")), integers([2**31 - 1], pa.time32("s"))),
    "time ns": (integers([0, 1], pa.time64("ns")), integers([-1], pa.time64("ns"))),
    "date32": (integers([0, 1], pa.date32()), integers([2**31 - 1], pa.date32())),
    "date64": (integers([0, 86_400_000], pa.date64()), integers([END], pa.date64())),
    "text": (texts([b"a", b"b"]), texts([BAD])),
    "large text": (texts([b"a", b"b"], pa.large_string()), texts([BAD], pa.large_string())),
    "dictionary": (texts([b"a", b"b"]).dictionary_encode(), pa.DictionaryArray.from_arrays([0], texts([BAD]))),
    "list": (pa.array([["a"], ["b"]]), pa.ListArray.from_arrays([0, 1], texts([BAD]))),
    "map": (pa.array([[("a", 1)], [("b", 2)]], PAIRS), pa.array([[("a", 1), ("a", 2)]], PAIRS)),
    "map in a struct": (pa.StructArray.from_arrays([pa.array([[("a", 1)], [("b", 2)]], PAIRS)], ["m"]),
                        pa.StructArray.from_arrays([pa.array([[("a", 1), ("a", 2)]], PAIRS)], ["m"])),
    **{f"{kind} in a list": (pa.ListArray.from_arrays([0, 1, 2], integers([0, 1], kind)),
                             pa.ListArray.from_arrays([0, 1], integers([odd], kind)))
       for kind, odd in ((pa.timestamp("s", "UTC"), FAR), (pa.timestamp("ms"), FAR), (pa.duration("s"), FAR),
                         (pa.time64("ns"), -1))},
    "pair": (pa.FixedSizeListArray.from_arrays(integers([0, 1], pa.duration("s")), 1),
             pa.FixedSizeListArray.from_arrays(integers([FAR], pa.duration("s")), 1)),
    "union": (pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [integers([0, 1], pa.duration("s"))]),
              pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [integers([FAR], pa.duration("s"))])),
    "dictionary of moments": (integers([0, 1], pa.timestamp("s", "UTC")).dictionary_encode(),
                              integers([FAR], pa.timestamp("s", "UTC")).dictionary_encode()),
    "run ends": (pa.RunEndEncodedArray.from_arrays([1, 2], integers([0, 1], pa.duration("s"))),
                 pa.RunEndEncodedArray.from_arrays([1], integers([FAR], pa.duration("s")))),
}  # fmt: skip
"""Two sound values, and one that DuckDB cannot read as it is, or reads as an infinity."""


def look(sources: dict[str, object]) -> list[tuple[str, list[int]]]:
    """Of each table the type of the column, and what counts, filters and groups see of its sound rows."""
    engine = DuckDBEngine.open(sources)
    try:
        seen = (
            engine.integers(
                "SELECT count(*) FILTER (WHERE x IS NOT NULL AND id < 2) AS n, count(x) - count(x) AS m, "
                f"count(DISTINCT x) FILTER (WHERE id < 2) AS d FROM {name}"
            ).to_pylist()[0]
            for name in sources
        )
        schema = engine.schema()
        return [
            (schema[name]["x"].type.name, list(row.values())) for name, row in zip(sources, seen, strict=True)
        ]
    finally:
        engine.close()


# A deep run asks both of each type.
@pytest.mark.parametrize(
    ("name", "parquet"),
    in_turn([*PLAIN], [False, True]),
    ids=lambda one: {False: "arrow", True: "parquet"}.get(one, one),
)
def test_one_value_changes_nothing_else(tmp_path: Path, name: str, parquet: bool) -> None:
    sound, odd = PLAIN[name]
    if parquet and isinstance(odd, pa.DictionaryArray):
        pytest.skip("written as texts")
    kind: Any = sound.type
    tables: dict[str, object] = {}
    for columns in ([sound], [sound, odd.cast(kind) if odd.type != kind else odd]):
        rows = (
            pa.chunked_array(columns, kind) if not pa.types.is_dictionary(kind) else pa.chunked_array(columns)
        )
        table: object = pa.table({"id": list(range(len(rows))), "x": rows})
        if parquet:
            try:
                pq.write_table(table, tmp_path / f"{len(rows)}.parquet")
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                pytest.skip("Arrow does not write it to Parquet")
            table = tmp_path / f"{len(rows)}.parquet"
        tables[f"t{len(rows)}"] = table
    found = look(tables)
    if pa.types.is_nested(kind):  # which no question compares: of them only NULL is told apart
        found = [(name, seen[:2]) for name, seen in found]
    assert found[0] == found[1]
    assert found[0][1] == [2, 0, 2][: len(found[0][1])]


def written(folder: Path) -> Path:
    """A file with a text that is none and a moment that is too far."""
    x = pa.concat_arrays([texts([b"a", b"b"] * 500), texts([BAD])])
    moments = integers([*range(1000), FAR], pa.timestamp("ms"))
    pq.write_table(
        pa.table({"x": x, "t": moments, "id": list(range(1001))}), folder / "t.parquet", row_group_size=100
    )
    return folder / "t.parquet"


QUERY = "SELECT count(x)::BIGINT AS n, count(t)::BIGINT AS m, max(length(x))::BIGINT AS l, max(epoch_ms(t)) AS e FROM t"


def test_every_way_of_asking(tmp_path: Path) -> None:
    path = written(tmp_path)
    expected = {"n": 1000, "m": 1000, "l": 1, "e": 999}
    engine = DuckDBEngine.open({"t": path})
    assert engine.integers(QUERY).to_pylist() == [expected]
    engine = DuckDBEngine.open({"t": path})
    assert [row for piece in in_batches(engine, QUERY, "n") for row in piece.to_pylist()] == [expected]
    engine = DuckDBEngine.open({"t": path})
    keys = engine.keys(
        "SELECT x, count(*) AS n FROM t WHERE x IS NOT NULL GROUP BY x", {}, lambda n: np.argsort(n)
    )
    assert sorted(keys["x"].to_pylist()) == ["a", "b"]


def test_copies_go_when_the_file_changes_and_with_the_engine(tmp_path: Path) -> None:
    path = written(tmp_path)
    engine = DuckDBEngine.open({"t": path})
    engine.integers(QUERY)
    folder = Path(engine._copies._folder)
    assert len(list(folder.rglob("*.parquet"))) == 1
    assert folder.parent.stat().st_mode & 0o077 == 0
    pq.write_table(pq.read_table(path).slice(0, 10), path)
    assert engine.probe(QUERY)
    assert engine.integers(QUERY).to_pylist() == [{"n": 10, "m": 10, "l": 1, "e": 9}]
    assert not list(folder.rglob("*.parquet"))
    pq.write_table(pa.concat_tables([pq.read_table(written(tmp_path)).slice(990)]), path)
    assert engine.integers(QUERY).to_pylist() == [{"n": 10, "m": 10, "l": 1, "e": 999}]
    engine.close()
    assert not folder.exists()


def test_without_copies_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the file is read as it is."""
    monkeypatch.setattr(Copies, "take", lambda *_: False)
    with pytest.raises(EngineError):
        DuckDBEngine.open({"t": written(tmp_path)}).integers(QUERY)


def test_types_that_duckdb_does_not_know() -> None:
    table = pa.table({
        "h": pa.array(np.array([1.5, np.inf], np.float16)), "d": pa.array([1, None], pa.decimal256(60, 3)),
        "n": integers([0, 10**9], pa.timestamp("ns", "Europe/Berlin")),
    })  # fmt: skip
    engine = DuckDBEngine.open({"t": table})
    assert [column.type.name for column in engine.schema()["t"].values()] == ["FLOAT", "FLOAT", "TIMESTAMP"]
    sums = "SELECT count(d) AS d, max(epoch_us(n)) AS n, count(h) FILTER (WHERE h = 1.5) AS h FROM t"
    assert engine.integers(sums).to_pylist() == [{"d": 1, "n": 1_000_000, "h": 1}]
    with pytest.raises(SourceError, match="of a type that DuckDB cannot read"):
        DuckDBEngine.open(
            {"t": pa.table({"u": pa.array([[("k", 1.5)]], pa.map_(pa.string(), pa.float16()))})}
        )
    lists = DuckDBEngine.open({"t": pa.table({"u": pa.array([[1.5]], pa.list_(pa.float16()))})})
    assert lists.schema()["t"]["u"].type is Type.FLOATS


def test_nanoseconds_with_a_zone_in_parquet(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"n": integers([0, 10**9, END], pa.timestamp("ns", "UTC"))}), tmp_path / "t.parquet"
    )
    engine = DuckDBEngine.open({"t": tmp_path / "t.parquet"})
    assert engine.schema()["t"]["n"].type.name == "TIMESTAMP"
    assert engine.integers(
        "SELECT count(*) FILTER (WHERE epoch_us(n) = 1000000) AS n FROM t"
    ).to_pylist() == [{"n": 1}]
