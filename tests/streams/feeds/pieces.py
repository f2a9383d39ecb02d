"""The rows of pieces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def rows_of(pieces: Iterable[Any]) -> list[Any]:
    """All rows, whether they come as columns or as rows."""
    return [row for piece in pieces for row in (piece if isinstance(piece, list) else piece.to_pylist())]
