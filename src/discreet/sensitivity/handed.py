"""Reads a sensitivity that a caller gives: a number that the caller vouches for, or a sampled one."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import InvalidParameter, PolicyError
from discreet.rational import Number, decimal, exact, positive, show
from discreet.sensitivity.sampled import SampledSensitivity

_WORDS = {"replace_one": "one record replaced", "add_remove": "one record more or less"}


def admit(
    sensitivity: Number | SampledSensitivity, random_dp: bool, neighbours: str | None = None
) -> tuple[Fraction, str]:
    """Return the L1 sensitivity as an exact number, and the note that must stand beside it.

    Args:
        sensitivity: a positive number, or the result of `sample`.
        random_dp: whether the policy allows random differential privacy.
        neighbours: those of the policy, for which a sampled sensitivity must have been sampled; None for any.

    Raises:
        PolicyError: it was sampled, and the policy does not allow that.
        InvalidParameter: it is not a positive number, or was sampled in another norm than L1 or for other neighbours.

    Example:
        >>> admit(0.5, random_dp=False)
        (Fraction(1, 2), 'the sensitivity 0.5 is vouched for by the caller, not derived')
    """
    if not isinstance(sensitivity, SampledSensitivity):
        value = positive(decimal(sensitivity, "sensitivity"), "sensitivity")
        return value, f"the sensitivity {show(value)} is vouched for by the caller, not derived"
    if not random_dp:
        raise PolicyError(
            "A sampled sensitivity gives random differential privacy, which is weaker, and the policy does not "
            "allow it.",
            "Derive the sensitivity, or let the steward write random_dp = true.",
            key="random_dp",
        )
    if sensitivity.norm != 1:
        raise InvalidParameter(
            "The sensitivity was sampled in the L2 norm, and Laplace noise needs L1.", "Sample with norm=1."
        )
    if neighbours is not None and sensitivity.neighbours != neighbours:
        raise InvalidParameter(
            f"The sensitivity was sampled for neighbours that are {_WORDS[sensitivity.neighbours]}, and the policy "
            f"protects against those that are {_WORDS[neighbours]}.",
            f'Sample with neighbours="{neighbours}".',
        )
    return positive(exact(sensitivity.value, "sensitivity"), "sensitivity"), sensitivity.warning
