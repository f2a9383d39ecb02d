"""`discreet budget` and `budget verify`: state, entries, and what tampering looks like."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import discreet as dp


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
    with sqlite3.connect(folder / "policy.ledger.db") as database:
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
    assert said.stdout.startswith("epsilon 0.25 was charged for what is lost\nhead 5:")
    assert run("budget").stdout.startswith("epsilon 0.25 left of 1 (0.75 spent)")
    assert json.loads(run("budget", "adopt", "--json").stdout)["charged"] == "0"
    assert run("budget", "verify").exit_code == 0
    assert run("budget", "adopt", "--lost", "much").exit_code != 0
