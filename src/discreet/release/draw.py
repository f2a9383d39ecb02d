"""The noise of one release: which mechanisms are used, and each value gets its noise once.

A `Draw` is made by the gate after the charge, and by nothing else in discreet.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import EngineError
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.accounting.events import Neighbours
    from discreet.mechanisms.mechanism import Mechanism

REPORT = "This is a fault of discreet; please report it with the question."


@dataclass(frozen=True)
class Use:
    """One use of a mechanism in a release.

    Attributes:
        mechanism: draws the noise.
        neighbours: those for which its sensitivity was derived.
        values: how many values it makes noisy, each once; None where that is known only when groups were found, or
            when a steward's function was called.
        alternatives: uses of one name here are alternatives, and cost together as much as the one that costs most. The
            producer answers for the premise: over all of them, the parts that a neighbour step moves of each
            sensitivity add up to at most one, as where each row counts in one of them. Empty for a use by itself.
        person: the class of people whose values alone it makes noisy, where people allow different epsilons; empty for
            everybody. The producer answers for it that a person is of one class.
        kept: where its exact values are those of a sample of the people, by class the probability to keep a person. The
            producer answers for it that a coin is independent of all else. None where everybody counts.
    """

    mechanism: Mechanism
    neighbours: Neighbours
    values: int | None
    alternatives: str = ""
    person: str = ""
    kept: Mapping[str, Fraction] | None = None


class Draw:
    """Draws the noise of one release that was charged: each value once, and none is left out."""

    def __init__(self, uses: Mapping[str, Use]) -> None:
        self._uses = uses
        self._left = {name: use.values for name, use in uses.items()}

    def __call__(self, name: str, exact: Any) -> Any:
        """Exact values with the noise of one of the uses: some of its values, each once, or all of them."""
        left = self._left[name]
        if left is None:
            self._left[name] = 0  # all of them at once
        else:
            self._left[name] = left - (count := np.size(exact))
            if count > left:
                raise EngineError("A number would get noise a second time.", REPORT)
        return self._uses[name].mechanism.release(exact)

    def settle_size(self, name: str, values: int) -> None:
        """Say how many values a use has whose number was not known beforehand; it is a released number."""
        if self._left[name] is not None:
            raise EngineError("The number of noisy values was known already.", REPORT)
        self._left[name] = values

    def see_all_drawn(self) -> None:
        """See that no value was left without its noise.

        Raises:
            EngineError: one was.
        """
        if any(self._left.values()) or None in self._left.values():
            raise EngineError("A number of this question got no noise.", REPORT)
