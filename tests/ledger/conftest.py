"""The places where a ledger can be, so that each promise is tested in all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.servers import new_schema


@pytest.fixture(params=["memory", "file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """A ledger that is not there yet; None in memory."""
    return None if request.param == "memory" else _place(request.param, tmp_path)


@pytest.fixture(params=["file", "postgres"])
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A ledger that is not there yet, which processes can share."""
    return _place(request.param, tmp_path)


def _place(kind: str, folder: Path) -> str:
    return new_schema() if kind == "postgres" else str(folder / "ledger.db")
