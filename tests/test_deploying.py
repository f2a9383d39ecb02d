"""The pages on deploying and operating are followed: the unit is verified, a backup restored, a reader granted."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import LedgerCorrupt
from discreet.ledger import Account, Loss, open_ledger
from discreet.server.oidc.identities import Identities
from discreet.server.records.asks import Began
from discreet.server.service import ServiceSettings
from discreet.server.start import open_service
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


def test_an_image_has_the_package_and_no_data_of_the_clone() -> None:
    lines = (DOCS.parent / ".dockerignore").read_text("utf-8").splitlines()
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))["project"]
    assert lines[1] == "*"
    kept = {line[1:] for line in lines if line.startswith("!")}
    assert kept == {"src", "pyproject.toml", "constraints.txt", project["readme"], *project["license-files"]}


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
    (grants,) = (block for block in _blocks("text", DEPLOYING) if "CREATE ROLE discreet_reader" in block)
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


def test_the_grants_of_a_service_are_enough_to_serve_and_let_nothing_be_changed(tmp_path: Path) -> None:
    (grants,) = (block for block in _blocks("text", DEPLOYING) if "discreet_service" in block)
    pq.write_table(pa.table({"age": [31, 47, 62]}), tmp_path / "visits.parquet")
    (tmp_path / "hospital.toml").write_text(
        '[budget]\nepsilon = 3\n[source]\nurl = "parquet:visits.parquet"\n[tables.visits]\nprivacy_unit = "row"\n'
    )
    url = new_database()
    open_service([tmp_path / "hospital.toml"], ServiceSettings(), url).close()
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("CREATE ROLE discreet LOGIN")
        try:
            owner.execute(grants.encode())
            served(tmp_path / "hospital.toml", url.replace("postgres:@", "discreet:@"))
            owner.execute("SET ROLE discreet")
            for refused in REFUSED:
                with pytest.raises(psycopg.Error):
                    owner.execute(refused)
        finally:
            owner.execute("RESET ROLE; DROP OWNED BY discreet; DROP ROLE discreet")


REFUSED = (
    "DELETE FROM discreet_ledger_hospital.discreet_entry",
    "UPDATE discreet_ledger_hospital.discreet_posting SET number = 0",
    "DELETE FROM discreet_ledger_hospital.discreet_head",
    "UPDATE discreet_ledger_hospital.discreet_head SET number = 0",
    "UPDATE discreet_service.audit SET who = 'ben'",
    "DELETE FROM discreet_service.audit",
    "DELETE FROM discreet_service.people",
    "UPDATE discreet_service.people SET role = 'steward'",
    "ALTER TABLE discreet_service.audit DISABLE TRIGGER ALL",
    "CREATE SCHEMA other",
)


def served(policy: Path, url: str) -> None:
    """Do everything that writes the state of a service and its ledger, as the user of the url."""
    service = open_service([policy], ServiceSettings(), url)
    with contextlib.closing(service):
        people, links = service.people, Identities(service.people, "https://login.example.org")
        people.add("test", "ana", "analyst")
        for epsilon in ("1", "2"):
            people.grant("test", "ana", "hospital", epsilon)
        caller = people.caller(people.issue("test", "ana"))
        assert caller is not None
        people.sign_out(people.sign_in(caller))
        links.link("test", "ana@example.org", "ana")
        for _ in range(2):  # the second one clears away those that are over
            assert links.sign_in("ana@example.org")
        links.unlink("test", "ana@example.org")
        people.revoke("test", caller.token)
        for came in (0, 1):
            service.asks.note("ana", "hospital", "key", {"query": "SELECT 1"}, Began("hospital", came))
        service.asks._came(("ana", "hospital", "key"), 2)
        (noted,) = service.asks.of("ana", "hospital")
        assert noted["came"] == 2, "an update that is not granted is silent, and moves the slot of an answer"
        service.asks.forget("ana", "hospital", "key")
        people.withdraw("test", "ana", "hospital")
        session = service.datasets["hospital"].session
        session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1)
        assert session.ledger.verify() == 2
        assert service.state.verify().number > 6


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
