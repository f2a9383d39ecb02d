"""`discreet audit`: an export that is verified elsewhere, and the log of a service itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.server.conftest import Running
from tests.server.conftest import run as serve
from tests.servers import new_database

from discreet.server.records.state import ServiceState
from discreet.server.start import state_place


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from serve(tmp_path_factory.mktemp("service"))


@pytest.mark.parametrize("kind", ["file", "postgres"])
def test_a_log_is_exported_and_verified(folder: Path, run: Run, kind: str) -> None:
    ledger = new_database() if kind == "postgres" else ""
    option = ["--ledger", ledger] if ledger else []
    assert "There is no service" in run("audit", "verify", "policy.toml", *option).stderr
    state = ServiceState(state_place([folder / "policy.toml"], ledger))
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


def test_a_steward_has_the_log_of_a_server_verified_there_and_here(
    service: Running, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_TOKEN", service.tokens["ana"])
    assert "needs the scope audit" in run("audit", "export", "--server", service.url).stderr
    monkeypatch.setenv("DISCREET_TOKEN", service.tokens["audrey"])
    asked = ["audit", "verify", "--server", service.url]
    there = json.loads(run(*asked, "--json").stdout)
    exported = run("audit", "export", "--server", service.url).stdout
    (tmp_path / "audit.jsonl").write_text(exported)
    here = json.loads(run("audit", "verify", "--file", str(tmp_path / "audit.jsonl"), "--json").stdout)
    assert here == there
    assert there["lines"] == len(exported.splitlines()) - 1 > 0
    assert run(*asked, "--noted", there["head"]).stdout.startswith(f"{there['lines']} lines, each unchanged")
    assert "not unchanged" in run(*asked, "--noted", f"1:{'0' * 64}").stderr
    for wrong in (["--ledger", "x.db"], ["policy.toml"], ["--file", "audit.jsonl"], ["--noted", "1:x"]):
        assert run(*asked, *wrong).exit_code == 2


def test_a_log_that_would_steer_a_terminal_is_not_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_TOKEN", "t")
    monkeypatch.setattr("discreet.client.audit.call", lambda *_, **__: b'{"who": "\x1b[2J"}\n')
    result = run("audit", "export", "--server", "http://127.0.0.1:1")
    assert result.exit_code == 1
    assert "\x1b" not in result.output
