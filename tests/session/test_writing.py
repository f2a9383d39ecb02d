"""Session.write: the answer of Session.sql in a file, whole or not at all, charged first, and nothing left behind."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from tests import shared
from tests.depth import deep, few, in_turn
from tests.warm import programs

import discreet as dp
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.spilling import Spilling
from discreet.errors import (
    BudgetExceeded,
    EngineError,
    InvalidParameter,
    PostProcessingError,
    QueryRefused,
)
from discreet.mechanisms.numeric import laplace_vector
from discreet.release import answer_file
from discreet.release.answer_archive import Packer
from discreet.release.answer_file import Target
from discreet.session import writing
from discreet.session.analyst import AnalystSession
from discreet.sql.finish import blockwise as streamed
from discreet.sql.finish import many_groups, recall
from discreet.sql.intervals import closed_form
from discreet.sql.intervals.bands import banded

RNG = np.random.default_rng(0)
TABLE = pa.table({
    "x": RNG.integers(0, 80, 5000), "y": RNG.integers(0, 80, 5000) ** 2 // 80, "v": RNG.random(5000),
    "name": RNG.choice(["Ann", "Bob"], 5000),
})  # fmt: skip
COUNT = "SELECT x, y, COUNT(*) AS n FROM data GROUP BY x, y"
QUESTIONS = [
    COUNT,
    "SELECT y, x AS z, AVG(v) AS m, COUNT(*) AS n, SUM(v) AS s FROM data GROUP BY x, y",
    "SELECT x, y, COUNT(*) * 2 AS n FROM data GROUP BY x, y HAVING COUNT(*) > 3",
    "SELECT x, y, COUNT(*) AS n FROM data GROUP BY x, y HAVING COUNT(*) > 1000000",
    "SELECT x, y, AVG(v) AS m, COUNT(*) AS n FROM data GROUP BY x, y ORDER BY n DESC, m",
    "SELECT x, y, AVG(v) AS m, COUNT(*) AS n FROM data GROUP BY x, y ORDER BY n LIMIT 5 OFFSET 2",
    "SELECT x, SUM(n) AS n FROM (SELECT x, y, COUNT(*) AS n FROM data GROUP BY x, y) GROUP BY x ORDER BY x",
    "SELECT x, y, COUNT(*) AS n, COUNT(DISTINCT v) AS d FROM data GROUP BY x, y",
    "SELECT x, y, COUNT(*) - AVG(COUNT(*)) OVER (PARTITION BY x) AS n FROM data GROUP BY x, y ORDER BY x, y",
    "SELECT x, COUNT(*) AS n, VAR_POP(v) AS d FROM data GROUP BY x",
]


@pytest.fixture(autouse=True)
def _large() -> Iterator[None]:
    """6,400 groups are as many as cannot be kept in memory or drawn, so that answers are made block by block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many_groups, "IN_MEMORY", 1 << 12)
        patch.setattr(recall, "MOST_RECALLED_GROUPS", 1 << 12)
        patch.setattr(closed_form, "MOST_NUMBERS", 2_000_000)
        patch.setattr(banded, "MOST_BANDED_GROUPS", 5_000)
        yield


def protect(folder: Path, table: pa.Table = TABLE, budget: Any = 1000) -> dp.Session:
    return shared.protect(table, privacy_unit="row", bounds={"x": (0, 79), "y": (0, 79), "v": (0, 1)},
                          budget=budget, ledger=folder / "ledger.db")  # fmt: skip


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("ledger.db"))


# A deep run asks those of empty and ordered answers, too; test_the_data_decides_no_shape writes both.
@pytest.mark.parametrize("query", [
    pytest.param(query, marks=deep if "1000000" in query or query.endswith("n DESC, m") else ()) for query in QUESTIONS
])  # fmt: skip
def test_a_file_holds_the_answer(query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "NUMBERS", 2_500)  # three blocks of a count and more of others
    session = protect(tmp_path)
    written = session.write(query, 1, tmp_path / "a.parquet")
    assert session.budget.spent == 1
    release = session.sql(query, 1)
    assert release.replayed
    assert not written.replayed
    table = pq.read_table(tmp_path / "a.parquet")
    about = json.loads(table.schema.metadata[b"discreet"])
    assert table.replace_schema_metadata(None).equals(release.to_arrow())
    assert (written.rows, list(written.columns)) == (len(release), table.column_names)
    assert written.notes == release.notes
    assert about["question"] == release.question
    assert (about["epsilon"], about["confidence"], about["notes"]) == ("1", 0.95, list(release.notes))
    again = session.write(query, 1, tmp_path / "b.parquet")
    assert again.replayed
    assert pq.read_table(tmp_path / "b.parquet").replace_schema_metadata(None).equals(release.to_arrow())
    other = session.sql(query, 1, confidence=0.5)
    if "VAR" not in query:  # whose intervals are drawn
        session.write(query, 1, tmp_path / "c.parquet", confidence=0.5)
        assert pq.read_table(tmp_path / "c.parquet").replace_schema_metadata(None).equals(other.to_arrow())
    assert session.budget.spent == 1
    assert session.ledger.verify() == 2


def test_an_answer_that_another_analyst_bought_is_not_said_to_be_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamed, "NUMBERS", 1_200)
    session = protect(tmp_path)
    ana, ben, cleo = (AnalystSession(session, name, 5) for name in ("ana", "ben", "cleo"))
    asked = [ana.write, ben.write, ben.write]
    told = [write(QUESTIONS[0], 1, tmp_path / f"{at}.parquet").replayed for at, write in enumerate(asked)]
    assert told == [False, False, True]
    ana.sql(QUESTIONS[0], 0.5)  # answered in memory, and kept whole
    told = [cleo.write(QUESTIONS[0], 0.5, tmp_path / f"whole {at}.parquet").replayed for at in range(2)]
    assert told == [False, True]


# A deep run writes the answers of all.
@pytest.mark.parametrize("query", few(QUESTIONS, 4))
def test_what_was_answered_is_written(query: str, tmp_path: Path) -> None:
    session = protect(tmp_path)
    release = session.sql(query, 1)
    assert session.write(query, 1, tmp_path / "a.parquet").replayed
    assert pq.read_table(tmp_path / "a.parquet").replace_schema_metadata(None).equals(release.to_arrow())


def test_csv(tmp_path: Path) -> None:
    session = protect(tmp_path)
    session.write(COUNT, 1, tmp_path / "a.csv")
    assert pc.read_csv(tmp_path / "a.csv").to_pydict() == session.sql(COUNT, 1).to_dict()


# A deep run asks each question of no row and of one.
@pytest.mark.parametrize(("query", "rows"), in_turn(QUESTIONS[:6], [TABLE.slice(0, 0), TABLE.slice(0, 1)]))
def test_the_data_decides_no_shape(query: str, rows: pa.Table, tmp_path: Path) -> None:
    shapes = []
    for name, table in (("all", TABLE), ("few", rows)):
        folder = tmp_path / name
        folder.mkdir()
        written = protect(folder, table).write(query, 1, folder / "a.parquet")
        schema = pq.read_schema(folder / "a.parquet").remove_metadata()
        shapes.append((schema, written.columns, written.notes, "HAVING" in query or written.rows))
    assert shapes[0] == shapes[1]


def test_groups_that_are_found_are_written_from_memory(tmp_path: Path) -> None:
    session = protect(tmp_path, budget=dp.Budget(epsilon=9, delta=1e-6))
    query = "SELECT name, COUNT(*) AS n FROM data GROUP BY name ORDER BY n"
    written = session.write(query, 1, tmp_path / "a.parquet", delta=1e-6)
    assert (written.rows, written.delta) == (2, Fraction(1, 10**6))
    assert pq.read_table(tmp_path / "a.parquet").column("name").to_pylist() in (
        ["Ann", "Bob"],
        ["Bob", "Ann"],
    )


@pytest.mark.parametrize(("name", "words"), [
    ("there.parquet", "already"), ("folder.csv", "already"), ("link.csv", "already"), ("answer.xlsx", "endings"),
    ("answer", "endings"), ("nowhere/answer.csv", "folder"), ("there.parquet/answer.csv", "folder"),
])  # fmt: skip
def test_places_are_refused_before_the_charge(name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "there.parquet").write_text("mine")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "gone")
    session = protect(tmp_path)
    with pytest.raises(InvalidParameter, match=words):
        session.write(COUNT, 1, tmp_path / name)
    assert session.budget.spent == 0
    assert (tmp_path / "there.parquet").read_text() == "mine"


def test_questions_are_refused_before_the_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = protect(tmp_path, budget=1)
    with pytest.raises(QueryRefused):
        session.write("SELECT x, y, nothing(x) AS n FROM data GROUP BY x, y", 1, tmp_path / "a.csv")
    with pytest.raises(BudgetExceeded):
        session.write(COUNT, 2, tmp_path / "a.csv")
    monkeypatch.setattr(writing, "MOST_KEPT", 5_000)
    with pytest.raises(QueryRefused, match="noisy integers"):
        session.write(COUNT, 1, tmp_path / "a.csv")
    assert session.budget.spent == 0
    assert left_over(tmp_path) == []


def test_a_file_is_replaced_when_asked_and_stays_when_the_answer_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = protect(tmp_path)
    path = tmp_path / "a.csv"
    path.write_text("old")
    monkeypatch.setattr(answer_file, "appear", _full)
    with pytest.raises(OSError, match="disk"):
        session.write(COUNT, 1, path, replace=True)
    assert path.read_text() == "old"
    monkeypatch.undo()
    assert session.write(COUNT, 1, path, replace=True).replayed
    assert path.read_text() != "old"


def _full(*_: object) -> None:
    raise OSError("the disk is full")


def _engine_fails(*_: object) -> Iterator[Any]:
    yield pa.table({"cell": [3], "m0": [1]})
    raise EngineError("The engine could not finish the query.", "Its words are withheld.")


def _post_fails(*_: object) -> Iterator[Any]:
    raise PostProcessingError("It failed.", "Change it.")


@pytest.mark.parametrize(("owner", "name", "fault", "error", "kept"), [
    (DuckDBEngine, "batches", _engine_fails, EngineError, False),
    (Packer, "block", _full, OSError, False),
    (Spilling, "run", _post_fails, PostProcessingError, True),
    (Target, "write", _full, OSError, True),
    (answer_file, "appear", _full, OSError, True),
])  # fmt: skip
def test_what_fails_after_the_charge_stays_charged_and_leaves_no_file(
    owner: Any, name: str, fault: Any, error: type[Exception], kept: bool, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    session = protect(tmp_path)
    query = COUNT + " ORDER BY n"
    monkeypatch.setattr(owner, name, fault)
    with pytest.raises(error) as caught:
        session.write(query, 1, tmp_path / "a.parquet")
    assert session.budget.spent == 1
    assert left_over(tmp_path) == []
    notes = " ".join(getattr(caught.value, "__notes__", ()))
    assert ("free" in notes) == (kept and error is OSError)
    monkeypatch.undo()
    again = session.write(query, 1, tmp_path / "a.parquet")
    assert again.replayed == kept
    assert session.budget.spent == (1 if kept else 2)


def test_a_file_that_appears_meanwhile_is_not_lost(tmp_path: Path) -> None:
    session = protect(tmp_path)
    path = tmp_path / "a.csv"

    def somebody(_: str) -> None:
        path.write_text("mine")

    with pytest.raises(FileExistsError):
        session.write(COUNT, 1, path, progress=somebody)
    assert path.read_text() == "mine"
    assert left_over(tmp_path) == ["a.csv"]


def test_what_is_unfinished_is_private_and_goes(tmp_path: Path) -> None:
    session = protect(tmp_path)
    seen: list[int] = []

    def look(_: str) -> None:
        seen.extend(stat.S_IMODE(folder.stat().st_mode) for folder in tmp_path.glob(".discreet-*"))

    session.write(COUNT + " ORDER BY n", 1, tmp_path / "a.parquet", progress=look)
    assert seen
    assert set(seen) == {0o700}
    assert left_over(tmp_path) == ["a.parquet"]


def test_nothing_is_settled_or_written_without_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At epsilon 2^-40 a count without noise would be below 1,000; with it, that has a probability below 1e-9."""

    def smallest(folder: Path) -> int:
        folder.mkdir()
        session = protect(folder)
        session.write(COUNT, Fraction(1, 2**40), folder / "a.parquet")
        return int(np.sort(np.abs(pq.read_table(folder / "a.parquet").column("n").to_numpy()))[5])

    assert smallest(tmp_path / "well") > 1000
    monkeypatch.setattr(laplace_vector, "add_laplace", lambda values, scale: values)
    assert smallest(tmp_path / "planted") < 1000


def test_how_far_it_is_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "EVERY", 0.0)
    monkeypatch.setattr(streamed, "NUMBERS", 1_500)
    said: list[str] = []
    session = protect(tmp_path)
    session.write(COUNT, 1, tmp_path / "a.parquet", progress=said.append)
    assert said[0] == "reading the data"
    assert "drawing noise: 3,000 of 6,400 groups" in said
    assert said[-1] == "writing the answer: 6,400 rows"


def test_the_charge_is_durable_before_the_data_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = protect(tmp_path)
    spent: list[Fraction] = []
    batches = DuckDBEngine.batches

    def watched(self: DuckDBEngine, *args: Any) -> Iterator[pa.Table]:
        spent.append(session.budget.spent)
        return batches(self, *args)

    monkeypatch.setattr(DuckDBEngine, "batches", watched)
    session.write(COUNT, 1, tmp_path / "a.parquet")
    assert spent == [1]


def test_a_mock_writes_too(tmp_path: Path) -> None:
    written = protect(tmp_path).mock().write(COUNT, 1, tmp_path / "a.parquet")
    assert "invented" in written.notes[0]


def test_sql_above_large_tables_reaches_nothing_else(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [3, 4]}), tmp_path / "noisy.parquet")
    pq.write_table(pa.table({"n": [5]}), tmp_path / "other.parquet")
    spill = tmp_path / "spill"
    spill.mkdir()
    with Spilling({"noisy": tmp_path / "noisy.parquet"}, {"public": pa.table({"n": [1]})}, spill) as box:
        pieces = list(box.run("SELECT noisy.n + public.n AS n FROM noisy, public ORDER BY n"))
        assert [row for piece in pieces for row in piece.column("n").to_pylist()] == [4, 5]
        for sql in (
            f"SELECT * FROM '{tmp_path / 'other.parquet'}'", "SELECT 1; SELECT 2", "DROP VIEW noisy",
            f"COPY noisy TO '{tmp_path / 'out.csv'}'", "SET memory_limit = '9GB'", "SELECT * FROM pieces",
        ):  # fmt: skip
            with pytest.raises(PostProcessingError):
                list(box.run(sql))
    assert not (tmp_path / "out.csv").exists()


def test_an_interrupt_leaves_the_charge_and_no_file(tmp_path: Path) -> None:
    session = protect(tmp_path)

    def stop(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.write(COUNT, 1, tmp_path / "a.parquet", progress=stop)
    assert session.budget.spent == 1
    assert left_over(tmp_path) == []


KILLED = """
import os, signal, sys
import discreet as dp
from discreet.sql.finish import blockwise as streamed
from discreet.session import writing
from discreet.session.analyst import AnalystSession
writing.EVERY, streamed.NUMBERS = 0.0, 20_000
folder, at = sys.argv[1], int(sys.argv[2])
session = dp.protect(folder + "/data.parquet", privacy_unit="row", bounds={"x": (0, 299), "y": (0, 299)}, budget=9,
                     ledger=folder + "/ledger.db")
said = 0
def die(_):
    global said
    said += 1
    if said == at:
        os.kill(os.getpid(), signal.SIGKILL)
session.write("SELECT x, y, COUNT(*) AS n FROM data GROUP BY x, y", 1, folder + "/a.parquet", progress=die)
"""


@pytest.mark.parametrize(("at", "settled"), [(1, False), (4, False), (7, True), (9, True)])
def test_a_process_that_is_killed_leaves_the_charge_and_no_file(
    at: int, settled: bool, tmp_path: Path
) -> None:
    pq.write_table(TABLE, tmp_path / "data.parquet")
    done = subprocess.run(
        [programs() / "python", "-", str(tmp_path), str(at)], input=KILLED, text=True, check=False
    )
    assert done.returncode == 128 + signal.SIGKILL, "it ended before it was killed"
    assert not (tmp_path / "a.parquet").exists()
    for folder in tmp_path.glob(".discreet-*"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with dp.protect(tmp_path / "data.parquet", privacy_unit="row", bounds={"x": (0, 299), "y": (0, 299)}, budget=9,
                    ledger=tmp_path / "ledger.db") as session:  # fmt: skip
        assert session.budget.spent == 1
        session.ledger.verify()
        query = "SELECT x, y, COUNT(*) AS n FROM data GROUP BY x, y"
        assert session.write(query, 1, tmp_path / "a.parquet").replayed == settled
