"""A question to a session, read once: the text, the cost, and the form of the answer."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.ledger import Loss
from discreet.rational import Number, epsilon_of
from discreet.records import dataclass
from discreet.session.parameters import delta_of, emphasis_of, level_of, limits_of, share_of, truth_of
from discreet.sql.intervals.simultaneous import Level
from discreet.sql.plan.limits import NO_LIMITS, Limits
from discreet.sql.plan.planner import Emphasis
from discreet.sql.plan.shaping import NO_SHAPING, Shaping

RECENT, LONGEST = 256, 20_000
"""How many questions are remembered with their parameters read, and of how many characters at most: a service looks at
each, tries it out, and asks it."""
ONE = Fraction(1)
"""The epsilon that a question without one is planned for: it needs none where it reads nothing private."""


@dataclass(frozen=True)
class SessionQuestion:
    """A question, with all its parameters read and in range.

    Attributes:
        text: as the analyst wrote it.
        epsilon: the privacy loss of all of it.
        delta: the delta that may be spent to find groups or on Gaussian noise; 0 for nothing.
        confidence: of the intervals.
        simultaneous: whether all intervals together have it.
        limits: how much of one unit counts.
        split: how many times its usual share of epsilon a column gets.
        intervals: whether quantiles spend a part of epsilon on theirs.
        diagnose: the share of epsilon that measures how much is cut off; 0 for none.
        apart: whether each group is measured by itself, though sums of groups are asked for. Nobody asks for this; it
            is how the groups of several nodes add up.
        shaping: whether numbers are shown above zero, and counts whole.
    """

    text: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    confidence: float = 0.95
    simultaneous: bool = False
    limits: Limits = NO_LIMITS
    split: Emphasis = ()
    intervals: bool = True
    diagnose: Fraction = Fraction(0)
    apart: bool = False
    shaping: Shaping = NO_SHAPING

    @classmethod
    def read(
        cls,
        text: str,
        epsilon: Number,
        *,
        confidence: float = 0.95,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        intervals: bool = True,
        diagnose: Number | None = None,
        nonnegative: bool = False,
        integers: bool = False,
    ) -> SessionQuestion:
        """Read the parameters of a question.

        Args:
            text: one SELECT; it is parsed later.
            epsilon: as for `Session.sql`.
            confidence: as for `Session.sql`.
            delta: as for `Session.sql`.
            max_rows: as for `Session.sql`.
            max_groups: as for `Session.sql`.
            max_rows_per_group: as for `Session.sql`.
            split: as for `Session.sql`.
            simultaneous: as for `Session.sql`.
            intervals: as for `Session.sql`.
            diagnose: as for `Session.sql`.
            nonnegative: as for `Session.sql`.
            integers: as for `Session.sql`.

        Raises:
            InvalidParameter: one of them is of the wrong type or out of range.
        """
        given = (
            text, epsilon, confidence, delta, max_rows, max_groups, max_rows_per_group, simultaneous, intervals,
            diagnose, nonnegative, integers,
        )  # fmt: skip
        with contextlib.suppress(TypeError):  # one that is of a wrong type, or cannot be hashed
            if split is None and len(text) <= LONGEST:
                return _known(*given)
        return _read(*given, split)

    def to_json(self) -> str:
        """The parameters that its plan follows from, as text; `of_json` reads it."""
        limits = tuple(vars(self.limits).values())
        split = [[name, str(factor)] for name, factor in self.split]
        return json.dumps([self.text, str(self.epsilon), str(self.delta), limits, split, self.intervals,
                           str(self.diagnose)])  # fmt: skip

    @classmethod
    def of_json(cls, text: str) -> SessionQuestion:
        """Read the text of `to_json`."""
        query, epsilon, delta, limits, split, intervals, diagnose = json.loads(text)
        factors = tuple((name, Fraction(factor)) for name, factor in split)
        return cls(query, Fraction(epsilon), Fraction(delta), limits=Limits(*limits), split=factors,
                   intervals=intervals, diagnose=Fraction(diagnose))  # fmt: skip

    def __hash__(self) -> int:
        """Most questions differ in text and epsilon, and the hashes of rationals take longer than all else."""
        return hash((self.text, self.epsilon.numerator, self.epsilon.denominator))

    @property
    def level(self) -> Level:
        """How sure the intervals are."""
        return Level(self.confidence, self.simultaneous)

    def with_epsilon(self, epsilon: Fraction) -> SessionQuestion:
        """The same question for another epsilon."""
        return replace(self, epsilon=epsilon)

    def loss(self, spends: bool) -> Loss:
        """The loss that it costs.

        Args:
            spends: whether its plan has groups that must be found, or Gaussian noise: then the delta is spent.
        """
        return Loss(self.epsilon, self.delta if spends else 0)


def _read(
    text: str,
    epsilon: Number,
    confidence: float,
    delta: Number | None,
    max_rows: int | None,
    max_groups: int | None,
    max_rows_per_group: int | None,
    simultaneous: bool,
    intervals: bool,
    diagnose: Number | None,
    nonnegative: bool,
    integers: bool,
    split: Mapping[str, Number] | None = None,
) -> SessionQuestion:
    """A question of some parameters."""
    given = (
        epsilon, confidence, delta, max_rows, max_groups, max_rows_per_group, simultaneous, intervals, diagnose,
        nonnegative, integers,
    )  # fmt: skip
    if split is None:
        with contextlib.suppress(TypeError):  # one that cannot be hashed, as a list or a column
            return SessionQuestion(text, **_known_parameters(*given))
    return SessionQuestion(text, **_parameters(*given, split))


def _parameters(
    epsilon: Number,
    confidence: float,
    delta: Number | None,
    max_rows: int | None,
    max_groups: int | None,
    max_rows_per_group: int | None,
    simultaneous: bool,
    intervals: bool,
    diagnose: Number | None,
    nonnegative: bool,
    integers: bool,
    split: Mapping[str, Number] | None = None,
) -> dict[str, Any]:
    """The attributes of a question beside its text."""
    level = level_of(confidence, simultaneous)
    limits = limits_of(max_rows, max_groups, max_rows_per_group)
    shown = truth_of(intervals, "intervals")
    known = {"epsilon": epsilon_of(epsilon), "delta": delta_of(delta), "limits": limits,
             "split": emphasis_of(split), "intervals": shown}  # fmt: skip
    shaping = Shaping(truth_of(nonnegative, "nonnegative"), truth_of(integers, "integers"))
    return {**known, "confidence": level.confidence, "simultaneous": level.together,
            "diagnose": share_of(diagnose), "shaping": shaping}  # fmt: skip


_known_parameters = lru_cache(RECENT, typed=True)(_parameters)
"""`_parameters`, remembered: most questions have those of another one, and a text of their own."""
_known = lru_cache(RECENT, typed=True)(_read)
"""`_read`, remembered. By types, too: 1 and 1.0 and True are equal, and not all of them may stand everywhere."""
