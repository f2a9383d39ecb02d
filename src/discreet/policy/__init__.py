"""The steward's declarations about a data set: budget, privacy unit, bounds and keys.

A policy is text, and reading one reads no data.
"""

from discreet.accounting.events import Neighbours
from discreet.policy.declarations import Budget, ColumnPolicy, TablePolicy
from discreet.policy.model import Policy
from discreet.policy.values import MAX_KEYS, Bound, Key, KeyReference

__all__ = [
    "MAX_KEYS",
    "Bound",
    "Budget",
    "ColumnPolicy",
    "Key",
    "KeyReference",
    "Neighbours",
    "Policy",
    "TablePolicy",
]
