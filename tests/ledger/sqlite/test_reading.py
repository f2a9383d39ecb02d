"""A ledger that may only be read is read, verified and replayed from; nothing is charged or answered anew."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.warm import programs

import discreet as dp
from discreet.errors import LedgerError
from discreet.ledger import Account, Ledger, Loss
from discreet.ledger.sqlite.reading import ReadingStore

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp())  # one that other users can reach, as pytest's own is not
    pq.write_table(pa.table({"a": [1, 2, 3]}), made / "visits.parquet")
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)
    for one in made.parent.glob(f"{made.name}.db*"):
        one.unlink()


def test_an_ordinary_user_reads_verifies_and_replays(folder: Path) -> None:
    with dp.protect(folder / "visits.parquet", privacy_unit="row", budget=9) as session:
        session.sql(COUNT, 1)
    for one in folder.iterdir():
        one.chmod(0o444)
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    folder.chmod(0o555)
    script = str(Path(__file__).with_name("reading.py"))
    done = subprocess.run([programs() / "python", script, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert (seen["replayed"], seen["spent"], seen["entries"], seen["preview"]) == (True, "1", 2, "2")
    assert seen["refused"][0] == "None"
    assert "writing" in seen["refused"][1]
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before


def test_one_that_lost_its_end_is_not_read(folder: Path) -> None:
    path = folder / "visits.parquet.ledger.db"
    with dp.protect(folder / "visits.parquet", privacy_unit="row", budget=9) as session:
        early = path.read_bytes()
        session.sql(COUNT, 1)
    path.write_bytes(early)
    with pytest.raises(LedgerError):
        ReadingStore(str(path), 1)


def test_nothing_is_charged(folder: Path) -> None:
    path = folder / "visits.parquet.ledger.db"
    with dp.protect(folder / "visits.parquet", privacy_unit="row", budget=9) as session:
        session.sql(COUNT, 1)
    ledger = Ledger(ReadingStore(str(path), 1))
    with pytest.raises(LedgerError):
        ledger.charge("q", Loss(1), [Account("a", Loss(2))])
    assert ledger.verify() == 2
    assert len(ledger.newest(9)) == 2
