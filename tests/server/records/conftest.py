"""The places where the state of a service can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers import new_schema


@pytest.fixture(params=["file", "postgres"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A state that is not there yet."""
    return new_schema() if request.param == "postgres" else str(tmp_path / "service.db")
