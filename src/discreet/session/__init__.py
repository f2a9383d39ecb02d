"""`protect(...)` puts a policy, an engine and a ledger behind one face.

That is `Session`; a question to it is read once, as a `Question`. Both load on first use: who looks at a budget or
counts a stream needs neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.imports import load
from discreet.session.budget import DATA_SET, BudgetState

if TYPE_CHECKING:
    from discreet.session.opening import protect
    from discreet.session.session import Session

_WHERE = {"Session": "session", "protect": "opening"}

__all__ = ["DATA_SET", "BudgetState", "Session", "protect"]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(load(f"discreet.session.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'discreet.session' has no attribute {name!r}")
