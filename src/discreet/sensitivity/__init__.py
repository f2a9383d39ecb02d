"""Sensitivities that are found rather than derived: sampled, in closed form, or searched for.

A derived sensitivity, as `discreet.protect` uses, holds for every pair of neighbouring data sets. A sensitivity found
here does not: `sample` gives random differential privacy, which is weaker and says so; `search` looks for a pair that
breaks a claim, and finding none is no proof.
"""

from discreet.sensitivity.handed import admit
from discreet.sensitivity.populations import HEIGHTS, Empirical, Mixture, Normal, Population
from discreet.sensitivity.sampled import SampledSensitivity, sample
from discreet.sensitivity.search import Found, search
from discreet.sensitivity.sizes import SampleSize, plan

__all__ = [
    "HEIGHTS",
    "Empirical",
    "Found",
    "Mixture",
    "Normal",
    "Population",
    "SampleSize",
    "SampledSensitivity",
    "admit",
    "plan",
    "sample",
    "search",
]
