"""The four methods of every mechanism: its release, the loss and the event of that, and the half-width of its error."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from discreet.rational import Number

if TYPE_CHECKING:
    from discreet.accounting.events import Event, Neighbours
    from discreet.accounting.zcdp import ZCDP

Cost: TypeAlias = "Fraction | tuple[Fraction, Fraction] | ZCDP"
"""A pure epsilon; epsilon and delta; or zCDP."""


class Mechanism(Protocol):
    """A guarantee: noise that fits a sensitivity."""

    def release(self, values: Any, /) -> Any:
        """Release exact values with noise, or a choice by them; one call costs `loss`, unless it says else."""

    @property
    def loss(self) -> Cost:
        """The privacy loss of one release: the price of its event."""

    def event(self, neighbours: Neighbours) -> Event:
        """The event that accountants price, for the neighbours of which the sensitivity speaks."""

    def half_width(self, confidence: Number = 0.95) -> float:
        """Half-width of the interval of one number: the noise is within it with at least this confidence."""


class PureLoss(ABC):
    """A mechanism of which accountants know nothing but its epsilon."""

    @property
    @abstractmethod
    def loss(self) -> Fraction:
        """The privacy loss of one release: pure epsilon."""

    def event(self, neighbours: Neighbours) -> Event:
        """The event that accountants price.

        Args:
            neighbours: those for which the sensitivity holds; of a local randomiser any, for a person gives one report.
        """
        from discreet.accounting.events import Released

        return Released(self.loss, neighbours=neighbours)


class OfPeople(ABC):
    """A local randomiser: its error depends on how many people report."""

    @abstractmethod
    def error(self, people: int, confidence: Number = 0.95) -> float:
        """Half-width of the interval of the estimate, known before anybody is asked."""

    def half_width(self, confidence: Number = 0.95, people: int = 1) -> float:
        """The same as `error`, by the name that every mechanism has."""
        return self.error(people, confidence)


class OfCandidates(ABC):
    """A choice: its error depends on how many candidates there are."""

    @abstractmethod
    def error(self, candidates: int, confidence: Number = 0.95) -> float:
        """How far the score of the chosen one may be below the largest."""

    def half_width(self, confidence: Number = 0.95, candidates: int = 2) -> float:
        """The same as `error`, by the name that every mechanism has."""
        return self.error(candidates, confidence)
