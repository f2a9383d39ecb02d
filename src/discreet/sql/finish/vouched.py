"""Numbers that the steward computes, released with noise for a sensitivity that the steward vouches for.

Nothing is derived here: the L1 sensitivity is the caller's word, or a sampled one where the policy allows
random differential privacy. What is kept of the contract: the charge comes first, the noise is exact, the
answer carries its error, and it says whose word it rests on.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import EngineError, InvalidParameter
from discreet.mechanisms import Laplace
from discreet.sql.finish.answer import Release

_FINE = 20
"""The grid is this many powers of two below the scale, so that rounding is far below the noise."""


def mechanism(sensitivity: Fraction, epsilon: Fraction) -> Laplace:
    """The Laplace mechanism on a grid that is fine for this scale.

    Raises:
        InvalidParameter: there is no noise of that scale.
    """
    exponent = math.floor(math.log2(sensitivity / epsilon)) - _FINE
    return Laplace(epsilon, sensitivity, Fraction(2) ** exponent)


def answer(compute: Callable[[], Any], noise: Laplace, confidence: float, what: str, note: str) -> Release:
    """Compute the numbers, add the noise, and say what it is.

    Raises:
        EngineError: they could not be computed, or are not finite numbers. What was raised is withheld.
    """
    import pyarrow as pa

    try:
        values = np.asarray(compute(), np.float64)
        if values.ndim > 1 or not values.size or not np.isfinite(values).all():
            raise InvalidParameter("These are no finite numbers.")
        assert noise.granularity is not None
        farthest = 2.0**60 * float(noise.granularity)
        # Clamping moves two answers no further apart, so the sensitivity stands.
        noisy = np.atleast_1d(noise.release(values.clip(-farthest, farthest)))
    except Exception:
        noisy = None
    if noisy is None:  # raised here, so that no traceback leads to a value
        raise EngineError(
            "The numbers could not be computed, or are not a number or a row of finite numbers.",
            "The charge stays; try the function on invented data first.",
        )
    width = noise.error(Fraction(str(confidence)), len(noisy))
    columns = {"value": noisy} if values.ndim == 0 else {"at": np.arange(len(noisy)), "value": noisy}
    return Release(
        question=what,
        values=pa.table(columns),
        low={"value": pa.array(noisy - width)},
        high={"value": pa.array(noisy + width)},
        confidence=confidence,
        epsilon=noise.epsilon,
        notes=(f"hides one unit as far as its sensitivity holds: {note}",),
        made=dt.datetime.now(dt.UTC).replace(microsecond=0),
    )
