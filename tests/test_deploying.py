"""The pages on deploying and operating are followed: the unit is verified, a backup restored, a reader granted."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from discreet.errors import LedgerCorrupt
from discreet.ledger import Account, Loss, open_ledger
from tests.servers import new_database
from tests.test_docs import DOCS
from tests.test_readme import _blocks, _shell

DEPLOYING, OPERATING = ((DOCS / name).read_text("utf-8") for name in ("deploying.md", "operating.md"))
POLICY = """\
[budget]
epsilon = 3
[source]
url = "csv:visits.csv"
[tables.visits]
privacy_unit = "patient_id"
max_rows = 3
"""
ASK = "discreet query 'SELECT COUNT(*) AS n FROM visits' --epsilon {}"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
@pytest.mark.parametrize("planted", ["", "Restart=sometimes"])
def test_the_unit_is_verified_and_a_wrong_line_is_seen(tmp_path: Path, planted: str) -> None:
    (unit,) = _blocks("ini", DEPLOYING)
    assert "ExecStart=/opt/discreet/bin/discreet serve" in unit
    unit = unit.replace("/opt/discreet/bin/discreet", sys.executable).replace(
        "Restart=always", planted or "Restart=always"
    )
    (tmp_path / "discreet.service").write_text(unit)
    done = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / "discreet.service")],
        capture_output=True,
        encoding="utf-8",
    )
    said = [line for line in done.stderr.splitlines() if "discreet.service" in line]
    assert bool(said) == bool(planted), done.stderr


def test_a_restored_ledger_gives_no_budget_back(tmp_path: Path) -> None:
    copy, restore = _blocks("shell", OPERATING)
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "visits.csv").write_text("patient_id,age\n1,30\n2,40\n")
    (tmp_path / "policy.service.db").touch()
    steps = [ASK.format("0.5"), copy, ASK.format("0.25")]
    assert all(_shell(step, tmp_path).returncode == 0 for step in steps)
    first, *rest = restore.splitlines()
    assert _shell(first, tmp_path).returncode == 0
    assert _shell(ASK.format("0.125"), tmp_path).returncode != 0, "an old copy beside a new head is refused"
    assert _shell("\n".join(rest), tmp_path).returncode == 0
    assert "epsilon 2.25 left of 3 (0.75 spent)" in _shell("discreet budget", tmp_path).stdout


def test_the_grants_are_enough_and_no_more() -> None:
    (grants,) = (block for block in _blocks("text", DEPLOYING) if "CREATE ROLE" in block)
    url = new_database()
    name = re.search(r"/(test_\w+)\?", url)
    assert name is not None
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(
            "CREATE TABLE visits (id int); CREATE TABLE counties (id int); CREATE TABLE other (id int)"
        )
        owner.execute(re.sub(r"DATABASE hospital", f"DATABASE {name[1]}", grants).encode())
        owner.execute("SET ROLE discreet_reader")
        assert owner.execute("SELECT count(*) FROM visits").fetchone() == (0,)
        for refused in ("INSERT INTO visits VALUES (1)", "SELECT * FROM other", "CREATE TABLE made (id int)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                owner.execute(refused)
        owner.execute("RESET ROLE; DROP OWNED BY discreet_reader; DROP ROLE discreet_reader")


def test_a_dump_of_postgresql_is_restored_and_a_noted_head_tells_what_it_lacks() -> None:
    """The commands of the page, with PostgreSQL's own programs from the wheel."""
    dump, restore = (re.findall(rf"`({name} [^`]+)`", OPERATING)[0] for name in ("pg_dump", "pg_restore"))
    url = new_database()
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT setting FROM pg_config WHERE name = 'BINDIR'").fetchone()
    assert row is not None
    programs = Path(row[0])
    if not (programs / "pg_dump").exists():
        pytest.skip("there is no pg_dump beside the server")
    place, account = f"{url}#discreet_ledger_hospital", Account("the data set", Loss(3))

    def run(command: str, folder: Path) -> None:
        name, *parts = shlex.split(command)
        parts = [f"--dbname={url}" if part in ("budgets", "--dbname=budgets") else part for part in parts]
        done = subprocess.run([programs / name, *parts], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    with TemporaryDirectory() as folder, contextlib.closing(open_ledger(place)) as ledger:
        ledger.settle(ledger.charge("one", Loss(1), [account]), b"1")
        kept = ledger.head()
        run(dump, Path(folder))
        ledger.charge("two", Loss(1), [account])
        noted = ledger.head()
        ledger.close()
        run(restore, Path(folder))
        with contextlib.closing(open_ledger(place)) as restored:
            assert restored.verify(kept) == 2
            assert restored.spent(account) == Loss(1)
            with pytest.raises(
                LedgerCorrupt, match="gone"
            ):  # a charge is lost, and nothing but the note tells
                restored.verify(noted)
