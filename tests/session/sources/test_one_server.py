"""A ledger on the PostgreSQL server of the data is told: no question asked again is free there."""

from __future__ import annotations

import logging
from pathlib import Path

import pyarrow as pa
import pytest
from tests import servers

import discreet as dp
from discreet.session.sources import one_server

VISITS = {"visits": pa.table({"age": [31, 47, 62]})}


def told(caplog: pytest.LogCaptureFixture, ledger: str, *, asks: int = 0) -> tuple[bool, str]:
    """Whether the log says it, and the loss spent after the same question was asked so often."""
    place = servers.load(servers.postgres(), "one_server", VISITS)["visits"]
    caplog.clear()
    with (
        caplog.at_level(logging.WARNING, "discreet"),
        dp.protect(place, privacy_unit="row", budget=5, ledger=ledger) as session,
    ):
        for _ in range(asks):
            session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1)
        return "on the PostgreSQL server of the data" in caplog.text, str(session.budget.spent)


def test_a_ledger_on_the_server_of_the_data_is_told_for_each_question_is_charged_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert told(caplog, servers.new_schema(), asks=2) == (True, "2")
    assert told(caplog, f"{servers.new_database()}#elsewhere")[
        0
    ]  # another database of the server is no other server


def test_a_ledger_in_a_file_or_on_another_server_is_not(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(caplog, str(tmp_path / "visits.ledger.db"), asks=2) == (False, "1")
    schema = servers.new_schema()
    monkeypatch.setattr(one_server, "_server_of_ledger", lambda place: "postgresql:another")
    assert not told(caplog, schema)[0]
