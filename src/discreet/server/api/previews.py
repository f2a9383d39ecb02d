"""Previews of the service: of no question that it would refuse for the size of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.server.service import see_size

if TYPE_CHECKING:
    from discreet.session.analyst import AnalystSession
    from discreet.session.workloads import WorkloadPreview
    from discreet.sql.inspect.preview import Preview

_ASSUMED = ("within", "group_rows")
"""Options that previews have, and questions have not."""


def previewed(session: AnalystSession, options: Mapping[str, Any]) -> Preview:
    """The preview of a question.

    Args:
        session: of the analyst.
        options: the keyword arguments of `Session.preview`.

    Raises:
        QueryRefused: its answer would be too large; a price would be offered for nothing.
    """
    seen = session.preview(**options)
    asked = _asked(options)
    if "within" in options:
        asked.setdefault("epsilon", 1)
    see_size(session.look(**asked))
    return seen


def workload_previewed(session: AnalystSession, options: Mapping[str, Any]) -> WorkloadPreview:
    """The same of several questions that are asked as one, with the arguments of `Session.preview_workload`."""
    seen = session.preview_workload(**options)
    see_size(session.look_at_workload(**_asked(options)))
    return seen


def _asked(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in _ASSUMED}
