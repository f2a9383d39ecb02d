"""`discreet budget` and `budget verify`: state, entries, and what tampering looks like."""

from __future__ import annotations

import getpass
import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.servers import new_schema

import discreet as dp
from discreet.ledger import Account, Loss, exists, open_ledger
from discreet.ledger.sqlite.rows import SqlRows
from discreet.session import DATA_SET


def _ask(run: Run, times: int = 2) -> None:
    for at in range(times):
        assert run("query", f"SELECT COUNT(*) AS n FROM visits WHERE age > {at}", "-e", "0.25").exit_code == 0


def test_looking_at_a_budget_makes_no_ledger(folder: Path, run: Run) -> None:
    assert run("budget").stdout == "epsilon 1 left of 1 (0 spent)\n"
    assert not (folder / "policy.ledger.db").exists()
    assert run("budget", "verify").exit_code == 1
    assert not (folder / "policy.ledger.db").exists()


def test_it_needs_no_data(folder: Path, run: Run) -> None:
    _ask(run)
    (folder / "visits.parquet").unlink()
    state, header, _, *charges = run("budget").stdout.splitlines()
    assert state == "epsilon 0.5 left of 1 (0.5 spent)"
    assert header.split()[0] == "entry"
    assert [line.split()[3:6] for line in charges] == [["0.25", "0.25", "yes"], ["0.25", "0.5", "yes"]]


def test_a_ledger_can_be_looked_at_alone(folder: Path, run: Run) -> None:
    _ask(run)
    seen = json.loads(run("budget", "--ledger", "policy.ledger.db", "--json").stdout)
    assert (seen["epsilon"], seen["spent"], seen["left"]) == ("1", "0.5", "0.5")
    assert run("budget", "--ledger", "none.db").exit_code == 1


def test_verify_gives_a_head_that_shows_what_is_cut_off_later(folder: Path, run: Run) -> None:
    _ask(run, 1)
    ledger, file = folder / "policy.ledger.db", folder / "policy.ledger.db-head"
    early, early_head = ledger.read_bytes(), file.read_bytes()
    _ask(run)
    said = json.loads(run("budget", "verify", "--json").stdout)
    assert said["entries"] == 4
    head = run("budget", "verify").stdout.splitlines()[1].removeprefix("head ")
    assert head == said["head"]
    assert run("budget", "verify", "--noted", head).exit_code == 0
    ledger.write_bytes(early)
    assert run("budget", "verify").exit_code == 1, "the second place knows of more"
    file.write_bytes(early_head)
    assert run("budget", "verify").exit_code == 0
    result = run("budget", "verify", "--noted", head)
    assert (result.exit_code, result.stdout) == (1, "")


def test_verify_finds_a_tampered_entry(folder: Path, run: Run) -> None:
    _ask(run)
    with closing(sqlite3.connect(folder / "policy.ledger.db")) as database, database:
        for (trigger,) in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            database.execute(f"DROP TRIGGER {trigger}")
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        changed = 0
        for table in tables:
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            if "question" in columns:
                changed += database.execute(
                    f"UPDATE {table} SET question = 'another' WHERE rowid = 1"
                ).rowcount
    database.close()
    assert changed
    result = run("budget", "verify")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
    assert "1" in result.stderr


@pytest.mark.parametrize("at", ["before", "after"])
def test_the_policy_may_stand_before_or_after_verify(folder: Path, run: Run, at: str) -> None:
    _ask(run, 1)
    (folder / "policy.toml").rename(folder / "p.toml")
    for end in ("", "-head"):
        (folder / f"policy.ledger.db{end}").rename(folder / f"p.ledger.db{end}")
    given = ["budget", "-p", "p.toml", "verify"] if at == "before" else ["budget", "verify", "-p", "p.toml"]
    assert run(*given).exit_code == 0


def test_a_budget_that_composes_by_another_rule(folder: Path, run: Run) -> None:
    policy = (folder / "policy.toml").read_text()
    (folder / "policy.toml").write_text(
        policy.replace("epsilon = 1\n", 'epsilon = 1\ndelta = 1e-6\naccountant = "zcdp"\n')
    )
    with dp.protect(policy="policy.toml") as session:
        for at in range(55):  # the sum is 1.1
            session.sql(f"SELECT COUNT(*) AS n FROM visits WHERE {at} = {at}", epsilon="0.02")
    state, rule, *_ = run("budget").stdout.splitlines()
    assert rule == "by zcdp at delta 1e-06; the sum of epsilons is 1.1"
    seen = json.loads(run("budget", "--json").stdout)
    assert 0.6 < float(seen["spent"]) < 0.7
    assert f"of 1 ({float(seen['spent']):.6g} spent), delta " in state
    assert state.endswith("left of 1e-06")
    assert run("budget", "verify").exit_code == 0


def test_a_ledger_that_lost_its_head_is_adopted_with_what_was_spent(folder: Path, run: Run) -> None:
    _ask(run)
    (folder / "policy.ledger.db-head").unlink()
    refused = run("budget")
    assert refused.exit_code == 1
    assert "discreet budget adopt --lost EPSILON" in refused.stderr
    assert run("budget", "adopt").exit_code == 1
    said = run("budget", "adopt", "--lost", "0.25")
    assert said.stdout.startswith("epsilon 0.25 was charged for the lost entries\nhead 5:")
    assert run("budget").stdout.startswith("epsilon 0.25 left of 1 (0.75 spent)")
    assert json.loads(run("budget", "adopt", "--json").stdout)["charged"] == "0"
    assert run("budget", "verify").exit_code == 0
    assert run("budget", "adopt", "--lost", "much").exit_code != 0


def test_it_says_since_when_it_counts(folder: Path, run: Run) -> None:
    assert "nothing was charged yet; the ledger is " in run("budget").stderr
    assert json.loads(run("budget", "--json").stdout)["since"] is None
    _ask(run)
    first = json.loads(run("budget", "--json").stdout)
    assert first["since"] == first["charges"][0]["time"]
    assert f"since the first charge, {first['since'][:10]}" in run("budget", "-n", "1").stderr


def test_a_ledger_that_is_gone_is_begun_again_from_its_head(folder: Path, run: Run) -> None:
    _ask(run)
    left = run("budget").stdout.splitlines()[0]
    (folder / "policy.ledger.db").unlink()
    refused = run("budget")
    assert refused.exit_code == 1
    assert "`discreet budget adopt`" in refused.stderr
    assert run("budget", "adopt").exit_code == 0
    assert run("budget").stdout.splitlines()[0] == left


@pytest.mark.parametrize("command", [(), ("verify",), ("forecast", "-e", "0.1"), ("--json",)])
def test_a_ledger_that_was_lost_is_not_shown_as_unspent(
    folder: Path, run: Run, command: tuple[str, ...]
) -> None:
    _ask(run, 1)
    (folder / "policy.ledger.db").unlink()
    said = run("budget", *command)
    assert said.exit_code == 1
    assert "is gone or empty, but its head names entry 2" in said.stderr
    assert said.stdout == ""


def test_the_newest_charges_are_shown_in_words(folder: Path, run: Run) -> None:
    with dp.protect(policy="policy.toml") as session:
        for at in range(23):
            session.sql(f"SELECT COUNT(*) AS n FROM visits WHERE age > {at}", epsilon="0.01")
    for at in (23, 24):
        assert run("query", f"SELECT COUNT(*) AS n FROM visits WHERE age > {at}", "-e", "0.01").exit_code == 0
    result = run("budget")
    lines = result.stdout.splitlines()[3:]
    assert len(lines) == 20
    assert "the newest 20 of 25 charges" in result.stderr
    assert [line.split()[6:] for line in lines[-1:]] == [
        [getpass.getuser(), *["SELECT", "COUNT(*)", "AS", "n", "FROM", "visits", "WHERE", "age", ">", "24"]]
    ]
    seen = json.loads(run("budget", "--limit", "3", "--json").stdout)
    assert (seen["count"], seen["spent"]) == (25, "0.25")
    assert [one["question"][-2:] for one in seen["charges"]] == ["22", "23", "24"]
    assert all(one["answered"] and one["guarantee"]["neighbours"] for one in seen["charges"])
    assert len(json.loads(run("budget", "--all", "--json").stdout)["charges"]) == 25
    assert len(run("budget", "--all").stdout.splitlines()) == 28
    assert json.loads(run("budget", "--limit", "0", "--json").stdout)["charges"] == []
    assert run("budget", "--limit", "-1").exit_code == 2


def test_many_charges_are_not_read_to_show_the_last(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(tmp_path / "l.db") as ledger:
        for at in range(200):
            ledger.settle(ledger.charge(f"q{at}", Loss(0.1), [Account(DATA_SET, Loss(100))]), b"a")
    after = SqlRows.after
    read = []

    def counted(self: SqlRows, number: int, count: int) -> Any:
        found = after(self, number, count)
        read.append(len(found))
        return found

    monkeypatch.setattr(SqlRows, "after", counted)
    assert (
        len(json.loads(run("budget", "--ledger", str(tmp_path / "l.db"), "--json").stdout)["charges"]) == 20
    )
    assert sum(read) < 200


def test_what_others_ask_does_not_steer_the_terminal(folder: Path, run: Run) -> None:
    sql = "SELECT COUNT(*) AS n FROM visits WHERE county = '\x1b[2J\u202e\x9b0m'"
    assert run("query", sql, "-e", "0.01").exit_code == 0
    said = run("budget").stdout
    assert all(letter.isprintable() or letter == "\n" for letter in said)


def test_a_policy_that_says_another_unit_is_told(folder: Path, run: Run) -> None:
    _ask(run)
    text = (folder / "policy.toml").read_text()
    (folder / "policy.toml").write_text('neighbours = "replace_one"\n' + text)
    assert run("budget").stdout.splitlines()[0] == "epsilon 0 left of 1 (1 spent)"
    (folder / "policy.toml").write_text(text.replace('"patient_id"', '"age"'))
    result = run("budget")
    assert result.exit_code == 0
    assert "warning: " in result.stderr
    assert json.loads(run("budget", "--json").stdout)["problem"]
    refused = run("query", "SELECT COUNT(*) AS n FROM visits WHERE cost > 1", "-e", "0.1", "--json")
    assert (refused.exit_code, json.loads(refused.stderr)["charged"]) == (2, None)


def test_a_ledger_in_postgresql_is_named_by_the_policy_and_shown_without_its_password(
    folder: Path, run: Run
) -> None:
    address = new_schema().replace("postgres:@", "postgres:hunter2@")
    policy = folder / "policy.toml"
    policy.write_text(f'{policy.read_text()}\n[ledger]\nurl = "{address}"\n')
    assert run("budget").stdout == "epsilon 1 left of 1 (0 spent)\n"
    assert not exists(address), "looking makes none"
    assert "There is no ledger" in run("budget", "verify").stderr
    _ask(run)
    assert not list(folder.glob("*.ledger.db*"))
    assert run("budget").stdout.startswith("epsilon 0.5 left of 1")
    said = run("budget", "verify", "--ledger", address, "--json").stdout
    assert json.loads(said)["entries"] == 4
    assert "hunter2" not in said + run("budget", "--json").stdout + run("budget", "adopt").stderr
    with dp.protect(policy="policy.toml") as session:
        assert "hunter2" not in session.ledger.where
        assert session.budget.left == Fraction(1, 2)


def test_the_forecast_reads_the_ledger_and_charges_nothing(folder: Path, run: Run) -> None:
    before = json.loads(run("budget", "forecast", "-e", "0.1", "--releases", "20", "--json").stdout)
    assert [(one["accountant"], one["fit"]) for one in before["forecast"]] == [("pure", 10)]
    run("query", "SELECT COUNT(*) AS n FROM visits", "-e", "0.25")
    picture = folder / "month.svg"
    after = run("budget", "forecast", "-e", "0.1", "-o", str(picture))
    assert "1 charge so far" in after.stdout
    assert after.stdout.splitlines()[-1].split()[:2] == ["pure", "7"]
    assert picture.read_text()[:4] == "<svg"
    assert len(json.loads(run("budget", "--json").stdout)["charges"]) == 1
