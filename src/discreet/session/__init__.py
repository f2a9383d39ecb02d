"""protect(...) -> Session: a policy, an engine and a ledger behind one question-and-answer face."""

from discreet.session.budget import DATA_SET, BudgetState
from discreet.session.opening import protect
from discreet.session.session import Session

__all__ = ["DATA_SET", "BudgetState", "Session", "protect"]
