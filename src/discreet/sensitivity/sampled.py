"""A sensitivity that was sampled: random differential privacy, which is weaker than differential privacy.

Draw m pairs of neighbouring data sets from a population, and take an order statistic of the distances of
the answers (the sensitivity sampler of Rubinstein and Alda 2017; `sizes` says which one, and why). A
mechanism calibrated to it is epsilon-DP on a pair of neighbours with probability 1 - gamma, if the records
are independent draws from that population (random differential privacy: Hall, Rinaldo and Wasserman 2012).
Nothing is promised to people whom the population makes improbable, and it is they who need it most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.rational import Number
from discreet.records import dataclass
from discreet.sensitivity.populations import Population
from discreet.sensitivity.sizes import Bound, whole_number
from discreet.sensitivity.sizes import plan as make_plan

Neighbours: TypeAlias = Literal["replace_one", "add_remove"]
Query: TypeAlias = Callable[[npt.NDArray[Any]], Any]

BLOCK: Final = 1 << 20
"""About how many records are drawn at once."""


@dataclass(frozen=True)
class SampledSensitivity:
    """A sensitivity that holds for a random pair of neighbours with probability 1 - gamma, and not for all.

    It is no number on purpose: mechanisms refuse it, and a `Session` does so unless the policy says
    `random_dp = true`. A caller who wants to use it all the same writes `.value`, and reads this.

    Attributes:
        value: the k-th smallest of m sampled distances, in the unit of the query.
        gamma: the probability with which epsilon-DP may fail, over the samples and a random pair.
        rho: the part of gamma that is spent on the samples.
        m: the number of sampled pairs.
        k: which order statistic the value is.
        bound: the inequality behind m and k, "binomial" or "dkw".
        norm: 1 or 2.
        neighbours: "replace_one" or "add_remove".
        records: the number of records of the larger data set of a pair.

    Example:
        >>> found = SampledSensitivity(0.0625, 0.05, 0.007, 113, 113, "binomial", 1, "replace_one", 500)
        >>> print(found)
        0.0625 (L1; the sensitivity 0.0625 was sampled (113 pairs): random differential privacy with gamma 0.05, ...)
    """

    value: float
    gamma: float
    rho: float
    m: int
    k: int
    bound: Bound
    norm: int
    neighbours: Neighbours
    records: int

    @property
    def warning(self) -> str:
        """The note for readers of any number that is made with it."""
        return (
            f"the sensitivity {self.value:.6g} was sampled ({self.m:,} pairs): random differential privacy with "
            f"gamma {self.gamma:g}, which is weaker than differential privacy, as it may fail for a fraction "
            f"{self.gamma:g} of pairs, and for any pair if the data is not drawn from the assumed population"
        )

    def __str__(self) -> str:
        return f"{self.value:.6g} (L{self.norm}; {self.warning})"


def sample(
    query: Query,
    population: Population,
    records: int,
    gamma: Number = 0.05,
    *,
    m: int | None = None,
    rho: Number | None = None,
    bound: Bound = "binomial",
    norm: int = 1,
    neighbours: Neighbours = "replace_one",
    vectorised: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> SampledSensitivity:
    """Sample the sensitivity of a query on data drawn from a population.

    Args:
        query: data set -> number or array of numbers. A data set is an array whose first axis counts its
            records. With `vectorised` it gets many at once, (pairs, records, ...), and returns (pairs, ...).
        population: anything with `sample(size)`, such as `Normal`, `Mixture` or `Empirical`.
        records: the number of records of a data set, at least 1.
        gamma: the probability with which privacy may fail.
        m: the number of pairs; by default the least that gamma needs.
        rho: the part of gamma spent on the samples; by default the best.
        bound: "binomial" (exact, the default) or "dkw" (as published).
        norm: 1 or 2, of the difference of two answers.
        neighbours: "replace_one", two data sets of the same size that differ in one record; or "add_remove".
        vectorised: whether the query takes many data sets at once, which is much faster.
        progress: called with the pairs done and the pairs wanted.

    Raises:
        InvalidParameter: a parameter is out of range, or the query does not give finite numbers of one shape.

    Privacy: see `SampledSensitivity`. The population must be public: it must not be estimated from the data.

    Example:
        >>> from discreet.sensitivity import HEIGHTS
        >>> found = sample(lambda x: x.mean(axis=1), HEIGHTS, records=500, gamma=0.01, vectorised=True)
        >>> found.m, found.k, 0.03 < found.value < 0.2
        (761, 761, True)
        >>> print(found.warning)
        the sensitivity ... was sampled (761 pairs): random differential privacy with gamma 0.01, which is weaker
        than differential privacy, as it may fail for a fraction 0.01 of pairs, and for any pair if the data is
        not drawn from the assumed population
    """
    chosen = make_plan(gamma, m=m, rho=rho, bound=bound)
    size = whole_number(records, "records")
    if norm not in (1, 2) or isinstance(norm, bool):
        raise InvalidParameter("norm is neither 1 nor 2.", "Write norm=1.")
    if neighbours not in ("replace_one", "add_remove"):
        raise InvalidParameter('neighbours is neither "replace_one" nor "add_remove".', "Choose one of them.")
    if not isinstance(population, Population):
        raise InvalidParameter("The population has no method sample(size).", "Give a Normal, say.")
    step = max(1, min(chosen.m, BLOCK // (size + 1)))
    gaps = []
    for start in range(0, chosen.m, step):
        pairs = min(step, chosen.m - start)
        gaps.append(_gaps(query, population, pairs, size, norm, neighbours, vectorised))
        if progress is not None:
            progress(start + pairs, chosen.m)
    value = float(np.sort(np.concatenate(gaps))[chosen.k - 1])
    return SampledSensitivity(
        value, chosen.gamma, chosen.rho, chosen.m, chosen.k, chosen.bound, norm, neighbours, size
    )


def _gaps(
    query: Query,
    population: Population,
    pairs: int,
    size: int,
    norm: int,
    neighbours: Neighbours,
    vectorised: bool,
) -> npt.NDArray[np.float64]:
    """The distances of the answers on `pairs` random pairs of neighbours."""
    drawn = np.asarray(population.sample(pairs * (size + 1)))
    if drawn.ndim == 0 or len(drawn) != pairs * (size + 1):
        raise InvalidParameter(
            "The population does not give as many records as asked for.", "Mend its sample."
        )
    drawn = drawn.reshape(pairs, size + 1, *drawn.shape[1:])
    left = drawn[:, :-1]
    if neighbours == "add_remove":
        right = drawn[:, 1:-1]
    else:
        right = left.copy()
        right[:, 0] = drawn[:, -1]  # in the same place, for a query that looks at the order
    if vectorised:
        answers = [np.asarray(query(each)) for each in (left, right)]
    else:
        answers = [_stack([np.asarray(query(data)) for data in each]) for each in (left, right)]
    first, second = (_flat(answer, pairs) for answer in answers)
    if first.shape != second.shape:
        raise InvalidParameter("The query gives answers of different shapes.", "Let its shape be fixed.")
    gaps: npt.NDArray[np.float64] = np.linalg.norm(first - second, ord=norm, axis=1)
    return gaps


def _stack(answers: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    if any(answer.shape != answers[0].shape for answer in answers):
        raise InvalidParameter("The query gives answers of different shapes.", "Let its shape be fixed.")
    return np.stack(answers)


def _flat(answer: npt.NDArray[Any], pairs: int) -> npt.NDArray[np.float64]:
    if answer.ndim == 0 or len(answer) != pairs or answer.dtype.kind not in "iufb":
        raise InvalidParameter(
            "The query does not give one number, or one array of numbers, for each data set.",
            "With vectorised=True it takes an array (pairs, records, ...) and returns (pairs, ...).",
        )
    flat = answer.astype(np.float64).reshape(pairs, math.prod(answer.shape[1:]))
    if not np.isfinite(flat).all():
        raise InvalidParameter(
            "The query gives a number that is not finite.",
            "Let it give a finite number for data of the population.",
        )
    return flat
