"""A release of a sample of the people, for numbers that do not add up over classes, such as quantiles.

The sampling mechanism (Jorgensen, Yu and Cormode 2015): to release with epsilon t, keep a person of share r with the
probability q = (e^(r t) - 1)/(e^t - 1), independently, and release from those who are kept. Let the output have the law
P with a person who is kept, and Q without. With a coin for that person it is (1 - q) Q + q P. As P <= e^t Q it is at
most (1 + q (e^t - 1)) Q = e^(r t) Q; and as P >= e^-t Q it is at least (1 - q (1 - e^-t)) Q >= e^(-r t) Q, for
(1 - q (1 - e^-t))(1 + q (e^t - 1)) = 1 + q (1 - q)(e^t + e^-t - 2) >= 1. So the person has r t by any release.

The coin of a person is a hash of the unit under a key of 256 secret bits, which is drawn when the release is computed,
used for one measure, and written down nowhere: no two measures share a coin, and nobody learns who was kept. An engine
may have it in memory until the session ends, beside the data. A replay is made of the released integers alone. The hash
is SHA-256, taken for a pseudorandom function, as AES is for the noise.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.sql.dialects import named
from discreet.sql.plan.plan import PlannedRelease

if TYPE_CHECKING:
    from discreet.sql.plan.people.by_class import ByClass

DIGITS = 32
"""Hexadecimal digits of a hash that a coin looks at: 128 bits."""
UNIT_KINDS = frozenset({"INTEGER", "TEXT"})
"""The kinds of units of which equal ones are written as the same text, and others as others."""


def keeps(people: ByClass, share: Fraction) -> dict[str, Fraction]:
    """By class, the probability to keep a person in a release with epsilon `share`; rounded down to 128 bits."""
    from discreet.accounting.personal import keep_probability

    classes = people.classes
    return {
        name: Fraction(math.floor(keep_probability(own * share, share) * 16**DIGITS), 16**DIGITS)
        for name, own in zip(classes.names, classes.shares, strict=True)
    }


def sample(release: PlannedRelease, index: int, key: str, dialect: str) -> PlannedRelease:
    """The release over the people who are kept for one of its measures.

    Args:
        release: the plan.
        index: of the measure.
        key: 64 secret hexadecimal digits, for this measure alone.
        dialect: of the engine.
    """
    assert release.people is not None
    assert len(key) == 64
    hashed = named(dialect).keyed_hash
    assert hashed is not None
    coins = [
        ""
        if keep == 1
        else f"(substr({hashed.format(key=key, unit='{0}')}, 1, {DIGITS}) < '{_digits(keep)}')"
        for keep in keeps(release.people, release.shares[index]).values()
    ]
    parts = tuple(
        replace(
            part, rows=replace(part.rows, relation=release.people.classes.sample(part.rows.relation, coins))
        )
        for part in release.parts
    )
    return replace(release, parts=parts, people=None)


def _digits(keep: Fraction) -> str:
    """The least text of digits that no kept hash reaches."""
    return format(int(keep * 16**DIGITS), f"0{DIGITS}x")
