"""`protect(...)` puts a policy, an engine and a ledger behind one face.

That is `Session`; a question to it is read once, as a `Question`.
"""

from discreet.session.budget import DATA_SET, BudgetState
from discreet.session.opening import protect
from discreet.session.session import Session

__all__ = ["DATA_SET", "BudgetState", "Session", "protect"]
