"""`protect(...)` puts a policy, an engine and a ledger behind one face.

That is `Session`; a question to it is read once, as a `SessionQuestion`. Both load on first use: who looks at a budget
or counts a stream needs neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.imports import lazy_names
from discreet.session.budget import DATA_SET, BudgetState

if TYPE_CHECKING:
    from discreet.session.opening import protect
    from discreet.session.session import Session

__all__ = ["DATA_SET", "BudgetState", "Session", "protect"]

__getattr__, __dir__ = lazy_names(__name__, {"session": "Session", "opening": "protect"}, __all__)
