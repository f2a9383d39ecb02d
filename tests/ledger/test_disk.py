"""When the ledger cannot be written, a typed error says why, nothing is half written, and it recovers."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.warm import programs

from discreet.errors import LedgerCorrupt, LedgerError
from discreet.ledger import Account, Ledger, Loss, open_ledger
from discreet.ledger.chain.entry import FORMAT

VISITS = Account("data set visits", Loss(3))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can reach, unlike tmp_path."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def run(case: str, folder: Path, *prefix: str) -> dict[str, Any]:
    python = sys.executable if prefix else str(programs() / "python")
    command = [*prefix, python, str(Path(__file__).with_name("disk.py")), case, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode == 77 or (prefix and "unshare failed" in done.stderr):
        pytest.skip("no right to mount a small disk here; the quota test stands in for it")
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_a_full_disk(folder: Path) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("no mount namespaces here; the quota test stands in for it")
    check_full(run("full", folder, "unshare", "--mount"), "the disk is full")


def test_a_file_that_may_not_grow(folder: Path) -> None:
    check_full(run("quota", folder), "an error of its disk or a quota")


def check_full(result: dict[str, Any], words: str) -> None:
    assert words in result["problem"]
    assert words in result["again"]
    assert result["entries"] > 2
    assert result["grown"] == 2
    assert result["consistent"]


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="no such users here")
def test_read_only_files_and_folders(folder: Path) -> None:
    problems = run("readonly", folder)
    assert "is read-only" in problems["file"]
    for name in ("both", "hidden", "new"):
        assert "cannot be opened" in problems[name] or "is read-only" in problems[name]


def raises(words: str, path: Path | str, kind: type[LedgerError] = LedgerError) -> None:
    with pytest.raises(kind, match=words) as caught:
        open_ledger(path)
    told = "".join(traceback.format_exception(caught.value))
    assert "sqlite3." not in told
    assert caught.value.fix


def test_places_that_cannot_hold_a_ledger(tmp_path: Path) -> None:
    raises("cannot be opened", tmp_path)
    raises("cannot be opened", tmp_path / "missing" / "ledger.db")
    (tmp_path / "text").write_text("county,income\n" * 1000)
    raises("another kind", tmp_path / "text")
    assert (tmp_path / "text").read_text() == "county,income\n" * 1000


def test_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        for i in range(100):
            ledger.settle(ledger.charge(f"q{i}", Loss("1/100"), [VISITS]), b"answer" * 500)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xa5" * (size - 8192))
    with pytest.raises(LedgerCorrupt), open_ledger(path) as ledger:
        ledger.verify()


def test_a_later_format_is_not_guessed_at(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_ledger(path).close()
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("DROP TRIGGER discreet_ledger_update")
        raw.execute(f"UPDATE discreet_ledger SET format = {FORMAT + 1}")
    raises("format", path)


def test_a_second_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_ledger(path).close()
    os.link(path, tmp_path / "other.db")
    raises("second name", path)
    (tmp_path / "other.db").unlink()
    (tmp_path / "soft.db").symlink_to(path)
    with open_ledger(path) as one, open_ledger(tmp_path / "soft.db") as two:
        one.charge("q", Loss(1), [VISITS])
        assert two.spent("data set visits") == Loss(1)


@pytest.mark.parametrize("replace", [True, False])
def test_a_file_that_is_replaced_while_open(tmp_path: Path, replace: bool) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        ledger.charge("q", Loss(1), [VISITS])
        path.rename(tmp_path / "away.db")
        if replace:
            with pytest.raises(LedgerError, match="its head names entry 1"):
                open_ledger(path)
            open_ledger(tmp_path / "other.db").close()
            (tmp_path / "other.db").rename(path)
        with pytest.raises(LedgerError, match="moved or replaced"):
            ledger.charge("q", Loss(1), [VISITS])


def test_a_busy_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path, timeout=0.1) as ledger, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="is busy"):
            ledger.charge("q", Loss(1), [VISITS])
        assert ledger.replay("q") is None  # reading goes on
        other.rollback()
        ledger.charge("q", Loss(1), [VISITS])
        assert ledger.verify() == 1


def test_no_error_quotes_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    def refuse(ledger: Ledger) -> LedgerError:
        charge, answer = ledger.charge("q", Loss(1), [VISITS]), b"secret" + bytes(9)
        with closing(sqlite3.connect(path)) as raw, raw:
            raw.execute(
                "CREATE TRIGGER broken BEFORE INSERT ON discreet_entry BEGIN SELECT RAISE(ABORT, 'no'); END"
            )
        with pytest.raises(LedgerError) as caught:
            ledger.settle(charge, answer)
        return caught.value

    with open_ledger(path) as ledger:
        error = refuse(ledger)
    assert error.__context__ is None
    assert error.__cause__ is None
    told = "".join(traceback.format_exception(error))
    assert "x00" not in told
    assert "b'" not in told


def test_commits_are_synced(tmp_path: Path) -> None:
    from discreet.ledger.sqlite.store import SqliteStore

    with open_ledger(tmp_path / "ledger.db") as ledger:
        store = ledger._store
        assert isinstance(store, SqliteStore)
        connection = store._connection
        assert connection is not None
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 3
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "persist"
