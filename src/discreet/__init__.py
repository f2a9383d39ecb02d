"""Differential privacy for practitioners: exact noise, SQL on your own engine, a budget that holds.

    import discreet as dp

    session = dp.protect("visits.parquet", privacy_unit="patient_id", max_rows=3, budget=3)
    session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.1)

Heavy modules load on first use, so `import discreet` is light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.imports import load

if TYPE_CHECKING:
    from discreet.client import connect
    from discreet.federation import federate
    from discreet.policy import Budget, Policy
    from discreet.release.answer import Release
    from discreet.session import Session, protect
    from discreet.session.sources.graphing import graph
    from discreet.session.sources.streaming import stream
    from discreet.sql.inspect.preview import Preview

__version__ = "0.1.0"

_WHERE = {
    "Budget": "discreet.policy",
    "Policy": "discreet.policy",
    "Preview": "discreet.sql.inspect.preview",
    "Release": "discreet.release.answer",
    "Session": "discreet.session",
    "connect": "discreet.client",
    "federate": "discreet.federation",
    "graph": "discreet.session.sources.graphing",
    "load_ipython_extension": "discreet.dbapi.notebook",
    "protect": "discreet.session",
    "stream": "discreet.session.sources.streaming",
}
_ROOMS = frozenset(
    {
        "accounting",
        "dbapi",
        "engines",
        "errors",
        "federation",
        "graphs",
        "learning",
        "ledger",
        "local",
        "mechanisms",
        "noise",
        "planning",
        "plots",
        "policy",
        "sensitivity",
        "spatial",
        "streams",
    }
)

__all__ = [
    "Budget",
    "Policy",
    "Preview",
    "Release",
    "Session",
    "connect",
    "federate",
    "graph",
    "protect",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(load(_WHERE[name]), name)
    if name in _ROOMS:
        return load(f"discreet.{name}")
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS, "__version__"})
