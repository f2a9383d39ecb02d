"""Planning: from an error to an epsilon to a number of people, and back, before any data is read.

The formulas are those of the textbook, for noise with a density, in floats: a plan, not a guarantee. Noise on counts
is drawn in whole numbers, and `WholeError` has their error. `discreet.Session.preview` gives the exact cost and error
of a query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.imports import lazy_names

# The function `information` has the name of its module, so it is imported here and now.
from discreet.planning.information import divergence, information, rate_distortion

if TYPE_CHECKING:
    from discreet.planning.constraints import Verdict, demands
    from discreet.planning.laplace import (
        LaplaceError,
        epsilon_for_rms,
        linear_gap,
        privacy_loss,
        scale_for_rms,
        scale_for_tail,
    )
    from discreet.planning.mean import epsilon_for_mean, mean_error, sample_size_for_mean
    from discreet.planning.proportion import (
        ProportionError,
        SampleSizes,
        epsilon_for_proportion,
        proportion_error,
        sample_sizes,
    )
    from discreet.planning.schedules import Schedule
    from discreet.planning.selection import epsilon_for_selection, selection_loss
    from discreet.planning.vector import VectorError, epsilon_for_expected_max, harmonic
    from discreet.planning.whole import WholeError, whole_epsilon_for_rms, whole_epsilon_for_tail

__all__ = [
    "LaplaceError",
    "ProportionError",
    "SampleSizes",
    "Schedule",
    "VectorError",
    "Verdict",
    "WholeError",
    "demands",
    "divergence",
    "epsilon_for_expected_max",
    "epsilon_for_mean",
    "epsilon_for_proportion",
    "epsilon_for_rms",
    "epsilon_for_selection",
    "harmonic",
    "information",
    "linear_gap",
    "mean_error",
    "privacy_loss",
    "proportion_error",
    "rate_distortion",
    "sample_size_for_mean",
    "sample_sizes",
    "scale_for_rms",
    "scale_for_tail",
    "selection_loss",
    "whole_epsilon_for_rms",
    "whole_epsilon_for_tail",
]

_NAMES = {
    "constraints": "Verdict demands",
    "laplace": "LaplaceError epsilon_for_rms linear_gap privacy_loss scale_for_rms scale_for_tail",
    "mean": "epsilon_for_mean mean_error sample_size_for_mean",
    "proportion": "ProportionError SampleSizes epsilon_for_proportion proportion_error sample_sizes",
    "schedules": "Schedule",
    "selection": "epsilon_for_selection selection_loss",
    "vector": "VectorError epsilon_for_expected_max harmonic",
    "whole": "WholeError whole_epsilon_for_rms whole_epsilon_for_tail",
}
__getattr__, __dir__ = lazy_names(__name__, _NAMES, __all__)
