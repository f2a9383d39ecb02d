"""From better privacy to better accuracy: the same question at several prices, from its plan alone."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from fractions import Fraction
from time import monotonic
from typing import Any

from discreet.errors import DiscreetError
from discreet.session.analyst import AnalystSession
from discreet.sql.inspect.preview import Preview

PRICES = tuple(map(Fraction, ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1")))
"""The prices beside which the expected errors stand."""
PATIENCE = 2.0
"""Seconds after which no further price is looked at. A plan reads no data, so that its time says nothing of them."""


def at_prices(session: AnalystSession, given: Mapping[str, Any], chosen: Preview) -> list[Preview]:
    """Previews of a question at each of PRICES and at the chosen one, the cheapest first; nothing is read.

    Args:
        session: of the analyst.
        given: the keyword arguments of `Session.preview`.
        chosen: the preview at the price that was asked for.

    Returns:
        Nothing for a question that costs nothing, or that has a price of its own in its text.
    """
    if not chosen.epsilon or not chosen.groups:
        return []
    found = {chosen.epsilon: chosen}
    until = monotonic() + PATIENCE
    for price in PRICES:
        if monotonic() > until:
            break
        with contextlib.suppress(DiscreetError):  # at this price it cannot be asked
            preview = session.preview(**{**given, "epsilon": price})
            found.setdefault(preview.epsilon, preview)
    return [found[price] for price in sorted(found)] if len(found) > 1 else []
