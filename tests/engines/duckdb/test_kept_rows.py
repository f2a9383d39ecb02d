"""Rows stay in memory only while the file that they are of is the same, and was so for a while."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDBEngine, kept_rows, small
from discreet.engines.duckdb.kept_rows import SETTLED, KeptRows

ROWS = pa.table({"age": [1, 2, 3]})
N = "SELECT CAST(COUNT({}) AS BIGINT) AS n, CAST(COALESCE(SUM({}), 0) AS BIGINT) AS m FROM {}"


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "a").write_text("one")
    (tmp_path / "b").write_text("two")
    return tmp_path / "a"


def kept_of(path: Path, clock: Clock) -> KeptRows:
    return KeptRows({"a": [str(path)], "b": [str(path.with_name("b"))], "none": []}, clock)


def asked(kept: KeptRows, table: str = "a", columns: tuple[str, ...] = ("age",)) -> bool:
    """Whether rows are found; else they are handed over."""
    state = kept.state(table)
    found = kept.find(table, state, columns)
    if kept.settled(table, state):
        kept.keep(table, state, columns, ROWS)
    return found is not None


def test_rows_are_kept_of_a_file_that_was_the_same_for_a_while(path: Path) -> None:
    clock = Clock()
    kept = kept_of(path, clock)
    assert not asked(kept)
    clock.now = SETTLED - 0.01
    assert not asked(kept)
    assert not asked(kept)
    clock.now = SETTLED
    assert not asked(kept)
    assert asked(kept)
    assert not asked(kept, columns=("age", "name"))
    assert not asked(kept, "b")
    assert not asked(kept, "none")
    assert not asked(kept, "none")


def set_back(path: Path) -> None:
    path.write_text("uno")
    os.utime(path, ns=(1, 1))


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_text("two"),
        lambda path: set_back(path),
        lambda path: os.replace(path.with_name("b"), path),
        lambda path: os.chmod(path, 0o600),
        lambda path: path.unlink(),
    ],
)
def test_a_change_of_the_file_is_seen(path: Path, change: Callable[[Path], object]) -> None:
    """One whose time of writing is set back, too."""
    clock = Clock()
    os.utime(path, ns=(1, 1))
    kept = kept_of(path, clock)
    for clock.now in (0, SETTLED, SETTLED):
        found = asked(kept)
    assert found
    change(path)
    assert not asked(kept)
    assert not asked(kept)  # it has not been there for long


def test_rows_of_a_file_that_changed_while_it_was_read_are_not_kept(path: Path) -> None:
    clock = Clock()
    kept = kept_of(path, clock)
    asked(kept)
    clock.now = SETTLED
    state = kept.state("a")
    kept.find("a", state, ["age"])
    path.write_text("other")
    kept.keep("a", state, ["age"], ROWS)
    assert kept.find("a", state, ["age"]) is None


def test_rows_that_were_read_too_early_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is written twice within one step of its times, and read between that, which takes long."""
    monkeypatch.setattr(small, "SHORT", 0)
    clock, path = Clock(), tmp_path / "u.parquet"

    def write(age: int) -> None:
        pq.write_table(pa.table({"age": [age]}), path)

    write(1)
    monkeypatch.setattr(KeptRows, "state", lambda self, table: ((1,),))
    with_file = DuckDBEngine.open({"u": str(path)})
    with_file._small.kept._clock = clock  # type: ignore[union-attr,misc]
    read = small.Small._read

    def slowly(*given: Any) -> Any:
        rows = read(*given)
        clock.now += SETTLED
        return rows

    asked = N.format("age", "age", "u")
    with_file.integers(asked)
    with monkeypatch.context() as patch:
        patch.setattr(small.Small, "_read", slowly)
        assert with_file.integers(asked)["m"].to_pylist() == [1]
    write(2)
    assert [with_file.integers(asked)["m"].to_pylist() for _ in range(3)] == [[2]] * 3
    with_file.close()


def test_they_take_no_more_memory_than_that(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_rows, "MOST_BYTES", 2 * ROWS.nbytes)
    clock = Clock()
    kept = kept_of(path, clock)
    asked(kept)
    clock.now = SETTLED
    for name in ("x", "y", "z"):
        asked(kept, columns=(name,))
    assert [asked(kept, columns=(name,)) for name in ("x", "y", "z")] == [True, True, False]


def see_right(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tables of files, in several columns, whose rows are kept and then are others."""
    monkeypatch.setattr(small, "SHORT", 0)
    monkeypatch.setattr(kept_rows, "SETTLED", -1.0)

    def write(name: str, more: int) -> None:
        made = pa.table({"age": [1 + more, 2], "size": [10 + more, 20]})
        pq.write_table(made, folder / f"{name}.tmp")
        os.replace(folder / f"{name}.tmp", folder / f"{name}.parquet")

    write("u", 0)
    write("w", 100)
    with_both = DuckDBEngine.open({name: str(folder / f"{name}.parquet") for name in "uw"})
    for added in (0, 5):
        for _ in range(5):
            assert with_both.integers(N.format("age", "age", "u"))["m"].to_pylist() == [3 + added]
            assert with_both.integers(N.format("size", "size", "u"))["m"].to_pylist() == [30 + added]
            assert with_both.integers(N.format("age", "age", "w"))["m"].to_pylist() == [103]
        assert with_both._small is not None
        assert {table: len(one.rows) for table, one in with_both._small.kept._known.items()} == {
            "u": 2,
            "w": 1,
        }
        write("u", 5)
    with_both.close()


def test_the_engine_counts_the_present_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    see_right(tmp_path, monkeypatch)


@pytest.mark.parametrize("forgotten", ["the table", "the columns", "the state"])
def test_a_key_that_forgets_something_is_found(
    forgotten: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted faults: rows are told apart by less than they hang on."""
    find, keep, state = KeptRows.find, KeptRows.keep, KeptRows.state
    if forgotten == "the state":
        monkeypatch.setattr(KeptRows, "state", lambda self, table: ((len(table),),))
    elif forgotten == "the table":
        monkeypatch.setattr(KeptRows, "state", lambda self, table: state(self, "u"))
        monkeypatch.setattr(KeptRows, "find", lambda self, table, *rest: find(self, "u", *rest))
        monkeypatch.setattr(KeptRows, "keep", lambda self, table, *rest: keep(self, "u", *rest))
    else:
        monkeypatch.setattr(KeptRows, "find", lambda self, a, b, _: find(self, a, b, ("x",)))
        monkeypatch.setattr(KeptRows, "keep", lambda self, a, b, _, rows: keep(self, a, b, ("x",), rows))
    with pytest.raises(AssertionError):
        see_right(tmp_path, monkeypatch)
