from __future__ import annotations

import asyncio
from typing import Any

import pytest

from discreet.client import connect
from discreet.errors import BudgetExceeded
from discreet.mcp.sources import Local, QuestionSource, ServerSource
from discreet.server.service import Service
from tests.server.conftest import COUNT, Running, running  # noqa: F401

ASKED = {"query": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.5"}


def run(source: QuestionSource, asked: dict[str, Any]) -> tuple[Any, ...]:
    async def all_of_it() -> tuple[Any, ...]:
        tables = await source.tables()
        seen = await source.preview(asked)
        release = await source.query(asked)
        return tables, seen, release, await source.history(), await source.budget()

    return asyncio.run(all_of_it())


def see(found: tuple[Any, ...]) -> None:
    tables, seen, release, history, budget = found
    assert tables[0]["columns"][0]["keys_of"] is None
    assert seen["epsilon"] == "0.5"
    assert release.columns
    assert (history[0]["epsilon"], history[0]["answered"]) == ("0.5", True)
    assert history[0]["asked"]["query"]
    assert budget["data_set"]["epsilon"] == "50"


def test_a_service_in_this_process(service: Service) -> None:
    source = Local(service, "assistant", "2")
    see(run(source, ASKED))
    assert asyncio.run(source.budget())["left"] == "1.5"
    # The budget is that of the ledger, for the next conversation too; None leaves it as the steward set it.
    assert asyncio.run(Local(service, "assistant", None).budget())["left"] == "1.5"
    with pytest.raises(BudgetExceeded):
        run(source, {**ASKED, "epsilon": "1.6"})


def test_a_service_elsewhere(running: Running) -> None:  # noqa: F811
    see(
        run(
            ServerSource(connect(running.url, token=running.tokens["ben"])),
            {"query": COUNT, "epsilon": "0.5"},
        )
    )
