"""The parameters of a question, read before anything else happens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from discreet.errors import InvalidParameter, QueryRefused
from discreet.rational import Number, decimal, epsilon_of, exact
from discreet.records import dataclass
from discreet.sql.intervals.simultaneous import Level
from discreet.sql.plan.limits import Limits
from discreet.sql.plan.planner import Emphasis
from discreet.sql.syntax.parse import too_deep

if TYPE_CHECKING:
    from discreet.sql.plan.plan import QueryPlan

GROUP_ROWS = 1000
"""How many rows a preview reckons with in a group."""
MOST_GROUP_ROWS = 10**9
"""How many at most: the sums of larger groups leave 64 bits, and their noise is nothing."""
NO_EPSILON = "This question has a cost, and epsilon is missing."
"""The cause, by which the command line tells this error from others."""
SUREST = 1 - 1e-9
"""The greatest confidence: a part of the rest, as for each of a million numbers, can still be told from nothing."""
MOCK_ROWS = 10_000
"""How many rows an invented table gets."""


def no_noise() -> InvalidParameter:
    """The error for an epsilon whose noise cannot be drawn."""
    return InvalidParameter(
        "This epsilon needs noise of a scale outside 2^-10 to 2^56.", "Choose an epsilon nearer to 1."
    )


@contextmanager
def not_too_deep() -> Iterator[None]:
    """Refuse a question where Python's stack ends, at the latest before its charge."""
    try:
        yield
    except RecursionError:
        raise too_deep() from None


def see_text(query: object) -> None:
    """Refuse a question that is no text that every engine can read.

    Raises:
        InvalidParameter: it is no text.
        QueryRefused: it holds NUL, or half of a pair that stands for one character.
    """
    if not isinstance(query, str):
        raise InvalidParameter("The question is not a text.", "Write a SELECT statement.")
    try:
        query.encode()
    except UnicodeEncodeError as error:
        position = error.start
    else:
        position = query.find("\0")
    if position >= 0:
        raise QueryRefused(
            f"The character at place {position + 1} of the question is none that a database can read.",
            "Remove it; it is NUL, or it comes from a file that was read in another encoding.",
        )


def delta_of(delta: object) -> Fraction:
    """Read the delta of a question; 0 stands for none."""
    value = Fraction(0) if delta is None else decimal(delta, "delta")
    if not 0 <= value < 1:
        raise InvalidParameter("delta must be at least 0 and below 1.", "Write delta=1e-9.")
    return value


def emphasis_of(split: object) -> Emphasis:
    """Read how columns share epsilon."""
    shares = {} if split is None else split
    if not isinstance(shares, Mapping) or not all(isinstance(name, str) for name in shares):
        raise InvalidParameter("split is not a mapping of columns to numbers.", 'Write split={"n": 3}.')
    return tuple((name, epsilon_of(times, f"split[{name}]")) for name, times in sorted(shares.items()))


def share_of(diagnose: object) -> Fraction:
    """Read the share of epsilon that measures how much is cut off; 0 stands for none."""
    value = Fraction(0) if diagnose is None else decimal(diagnose, "diagnose")
    if not 0 <= value < 1:
        raise InvalidParameter("diagnose must be at least 0 and below 1.", "Write diagnose=0.05.")
    return value


def level_of(confidence: object, simultaneous: object) -> Level:
    """Read how sure intervals are."""
    return Level(confidence_of(confidence), truth_of(simultaneous, "simultaneous"))


def truth_of(value: object, name: str) -> bool:
    """Read a parameter that is True or False."""
    if not isinstance(value, bool):
        raise InvalidParameter(f"{name} must be True or False.", f"Write {name}=True.")
    return value


def choice_of(value: object, name: str) -> bool | None:
    """Read a parameter that is True or False, or None where another one decides."""
    return None if value is None else truth_of(value, name)


def confidence_of(confidence: object) -> float:
    """Read a confidence."""
    if type(confidence) is float and 0 < confidence <= SUREST:
        return confidence
    value = float(exact(confidence, "confidence"))
    if not 0 < value < 1:
        raise InvalidParameter("confidence must be strictly between 0 and 1.", "Write confidence=0.95.")
    if value > SUREST:
        raise InvalidParameter(
            "confidence is nearer to 1 than 1 - 1e-9.", "Write confidence=0.999999999, or less."
        )
    return value


def limits_of(max_rows: int | None, max_groups: int | None, max_rows_per_group: int | None = None) -> Limits:
    """Read how much of a unit counts; None leaves it to the policy."""
    limits = Limits(max_rows, max_groups, max_rows_per_group)
    for name, value in vars(limits).items():
        if value is not None:
            whole(value, name)
    return limits


def whole(value: object, name: str) -> None:
    """Refuse all but a positive whole number of 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**63:
        raise InvalidParameter(f"{name} must be a positive whole number.", f"Write {name}=1000.")


def see_group_rows(group_rows: object) -> None:
    """Refuse all but a positive whole number that a group may have as rows."""
    whole(group_rows, "group_rows")
    if isinstance(group_rows, int) and group_rows > MOST_GROUP_ROWS:
        raise InvalidParameter(
            f"group_rows is more than {MOST_GROUP_ROWS:,}.", f"Write at most group_rows={MOST_GROUP_ROWS}."
        )


def see_cost(epsilon: Number | None, plan: QueryPlan) -> None:
    """Refuse a question that has a cost and no epsilon."""
    if epsilon is None and plan.releases:
        raise InvalidParameter(
            NO_EPSILON,
            "Write epsilon=0.1, in a notebook %%discreet --epsilon 0.1, or over a connection for SQL "
            "SET discreet.epsilon = 0.1; a preview finds the least one for an error.",
        )


@dataclass(frozen=True)
class ErrorTarget:
    """The largest error by column, and the size of the groups that it is reckoned for.

    Attributes:
        within: the largest error allowed by column.
        group_rows: how many rows a group is assumed to have, where an error depends on it.
    """

    within: Mapping[str, Number]
    group_rows: int = GROUP_ROWS

    @classmethod
    def read(cls, within: Mapping[str, Number] | None, group_rows: int = GROUP_ROWS) -> Self | None:
        """The target of a caller; None where it names an epsilon instead.

        Raises:
            InvalidParameter: group_rows is no positive whole number, or stands beside no error.
        """
        see_group_rows(group_rows)
        if within is not None:
            return cls(within, group_rows)
        if group_rows != GROUP_ROWS:
            raise InvalidParameter(
                "group_rows decides the price of an error, and none is named.",
                'Write within={"n": 50} in place of epsilon, or leave group_rows out.',
            )
        return None
