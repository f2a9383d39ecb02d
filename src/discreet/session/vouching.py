"""A number that a steward computes and vouches for, as a release."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.ledger import Loss
from discreet.policy import Policy
from discreet.rational import Number
from discreet.release.answer import Release
from discreet.release.draw import Use
from discreet.release.plan import ReleasePlan
from discreet.release.vouched import Numbers, answer, computed, mechanism
from discreet.sensitivity import admit

if TYPE_CHECKING:
    from discreet.sensitivity import SampledSensitivity

SIZE = 1 << 18
"""About how many bytes the ledger keeps of such an answer."""


def release_plan(
    compute: Callable[[], Any],
    sensitivity: Number | SampledSensitivity,
    epsilon: Fraction,
    statistic: str,
    confidence: float,
    policy: Policy,
) -> ReleasePlan[Numbers, Release]:
    """The plan of `Session.release`, whose arguments these are.

    Raises:
        InvalidParameter: there is no such noise, or the sensitivity is for other neighbours than the policy's.
        PolicyError: a sampled sensitivity, which the policy does not allow.
    """
    size, note = admit(sensitivity, policy.random_dp, policy.neighbours)
    noise = mechanism(size, epsilon)
    parts = ["vouched", statistic, str(noise.epsilon), str(size)]

    def made(numbers: Numbers) -> tuple[Release, bytes]:
        release = answer(numbers, noise, confidence, statistic, note)
        return release, release.to_bytes()

    return ReleasePlan(
        question=hashlib.sha256(json.dumps(parts).encode()).hexdigest(),
        words=statistic,
        loss=Loss(noise.epsilon),
        uses={"numbers": Use(noise, policy.neighbours, None)},
        compute=lambda draw: computed(compute, lambda exact: draw("numbers", exact)),
        answer=made,
        size=SIZE,
    )


def with_card(release: Release, plan: ReleasePlan[Numbers, Release], policy: Policy) -> Release:
    """The answer with the facts for its card."""
    from discreet.release.cards.deployment import facts, mechanisms

    return replace(release, deployment=lambda: {**facts(policy), "mechanisms": mechanisms(plan.uses)})
