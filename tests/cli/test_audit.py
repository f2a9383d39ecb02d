"""`discreet audit`: an export that is verified elsewhere, and the log of a service itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.servers import new_database

from discreet.server.records.state import State
from discreet.server.start import state_place


@pytest.mark.parametrize("kind", ["file", "postgres"])
def test_a_log_is_exported_and_verified(folder: Path, run: Run, kind: str) -> None:
    ledger = new_database() if kind == "postgres" else ""
    option = ["--ledger", ledger] if ledger else []
    assert "There is no service" in run("audit", "verify", "policy.toml", *option).stderr
    state = State(state_place([folder / "policy.toml"], ledger))
    for at in range(3):
        state.note("stella", "token made", str(at))
    state.close()
    said = json.loads(run("audit", "verify", "policy.toml", *option, "--json").stdout)
    assert said["lines"] == 3
    words = f"3 lines, each unchanged\nhead {said['head']}\n"
    assert run("audit", "verify", *option, "--noted", said["head"]).stdout == words
    exported = run("audit", "export", *option).stdout
    (folder / "audit.jsonl").write_text(exported)
    assert json.loads(run("audit", "verify", "--file", "audit.jsonl", "--json").stdout) == said
    (folder / "audit.jsonl").write_text(exported.replace("stella", "stello", 1))
    assert "Line 1 of the audit log" in run("audit", "verify", "--file", "audit.jsonl").stderr
    assert run("audit", "verify", "--noted", "nonsense").exit_code == 2
