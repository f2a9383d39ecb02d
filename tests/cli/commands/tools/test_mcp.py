from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from tests.cli.conftest import Run
from tests.server.conftest import COUNT, Running, make_hospital, running  # noqa: F401
from tests.warm import programs

from discreet.cli.failure import USAGE


def told(*args: str, **env: str) -> dict[str, object]:
    """Run the command as an assistant's program does, and ask one question."""

    async def talking() -> dict[str, object]:
        command = StdioServerParameters(
            command=str(programs() / "discreet"), args=["mcp", *args], env={**os.environ, **env}
        )
        async with Client(command) as client:
            result = await client.call_tool("query", {"query": COUNT, "epsilon": "0.5"})
            assert not result.is_error, result
            answer: dict[str, object] = json.loads(getattr(result.content[0], "text", ""))
            return answer

    return asyncio.run(talking())


def test_a_policy_alone_and_the_budget_that_lasts(tmp_path: Path) -> None:
    path = str(make_hospital(tmp_path / "hospital"))
    first = told(path, "--budget", "1")
    assert isinstance(first["budget"], dict)
    assert first["budget"]["left"] == "0.5"
    again = told(path)
    assert (again["replayed_for_nothing"], again["rows"]) == (True, first["rows"])


def test_a_server(running: Running) -> None:  # noqa: F811
    assert told("--server", running.url, DISCREET_TOKEN=running.tokens["ana"])["columns"]


@pytest.mark.parametrize(
    "args",
    [["--server", "http://127.0.0.1:1", "--budget", "1"], ["--dataset", "x"], ["{policy}"]],
)
def test_wrong_options(run: Run, tmp_path: Path, args: list[str]) -> None:
    path = make_hospital(tmp_path / "hospital")
    assert run("mcp", *[one.format(policy=path) for one in args]).exit_code == USAGE
