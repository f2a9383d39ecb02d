"""A mistyped folder is refused: ClickHouse would make it, and hold nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.engines.clickhouse.line import dial
from discreet.errors import SourceError


def test_a_folder_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    pytest.importorskip("chdb")
    with pytest.raises(SourceError, match="No folder has this name"):
        dial(f"clickhouse:{tmp_path / 'mistyped'}#t")
    assert not (tmp_path / "mistyped").exists()
