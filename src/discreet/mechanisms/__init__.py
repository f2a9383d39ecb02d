"""Mechanisms: noise matched to a sensitivity, with the guarantee that follows.

These are building blocks: the docstring of each names the guarantees that the caller must give, above all the
sensitivity. `discreet.protect` derives it instead.

Each loads on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.imports import lazy_names, load
from discreet.mechanisms.clamp import clamp, clamp_bias

if TYPE_CHECKING:
    from discreet.mechanisms import l1
    from discreet.mechanisms.adaptive.rounds import AdaptiveRounds, Rounds
    from discreet.mechanisms.local.frequencies import Frequencies
    from discreet.mechanisms.local.hadamard_response import HadamardResponse
    from discreet.mechanisms.local.local_laplace import LocalLaplace, LocalMean
    from discreet.mechanisms.local.randomized_response import RandomizedResponse
    from discreet.mechanisms.local.two_coins import TwoCoins
    from discreet.mechanisms.local.unary_encoding import UnaryEncoding
    from discreet.mechanisms.numeric.cube_vector import CubeVector
    from discreet.mechanisms.numeric.discrete_gaussian import DiscreteGaussian
    from discreet.mechanisms.numeric.gaussian_vector import GaussianVector
    from discreet.mechanisms.numeric.laplace import Laplace
    from discreet.mechanisms.numeric.laplace_error import ExpectedLaplaceError
    from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
    from discreet.mechanisms.numeric.smooth_cauchy import SmoothCauchy
    from discreet.mechanisms.numeric.smooth_laplace import SmoothLaplace
    from discreet.mechanisms.numeric.staircase import Staircase
    from discreet.mechanisms.numeric.threshold import ThresholdedCounts
    from discreet.mechanisms.numeric.unbounded_laplace import UnboundedLaplace
    from discreet.mechanisms.ranks.flipped_quantile import FlippedQuantile
    from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
    from discreet.mechanisms.ranks.quantile import ExponentialQuantile
    from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
    from discreet.mechanisms.ranks.sparse_counts import SparseCounts
    from discreet.mechanisms.selection.above_threshold import AboveThreshold, Watch
    from discreet.mechanisms.selection.exponential import Exponential
    from discreet.mechanisms.selection.ladder import Climbed, Ladder
    from discreet.mechanisms.selection.noisy_max import NoisyMax
    from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip

__all__ = [
    "AboveThreshold",
    "AdaptiveRounds",
    "Climbed",
    "CubeVector",
    "DiscreteGaussian",
    "ExpectedLaplaceError",
    "Exponential",
    "ExponentialQuantile",
    "FlippedQuantile",
    "Frequencies",
    "GaussianVector",
    "HadamardResponse",
    "Ladder",
    "Laplace",
    "LaplaceVector",
    "LeafMeasure",
    "LocalLaplace",
    "LocalMean",
    "NoisyMax",
    "PermuteAndFlip",
    "QuantilesWithEnds",
    "RandomizedResponse",
    "Rounds",
    "SmoothCauchy",
    "SmoothLaplace",
    "SparseCounts",
    "Staircase",
    "ThresholdedCounts",
    "TwoCoins",
    "UnaryEncoding",
    "UnboundedLaplace",
    "Watch",
    "clamp",
    "clamp_bias",
    "l1",
]

_NAMES = {
    "adaptive.rounds": "AdaptiveRounds Rounds",
    "selection.above_threshold": "AboveThreshold Watch",
    "numeric.cube_vector": "CubeVector",
    "numeric.discrete_gaussian": "DiscreteGaussian",
    "selection.exponential": "Exponential",
    "local.frequencies": "Frequencies",
    "numeric.gaussian_vector": "GaussianVector",
    "local.hadamard_response": "HadamardResponse",
    "numeric.laplace": "Laplace",
    "numeric.laplace_error": "ExpectedLaplaceError",
    "numeric.laplace_vector": "LaplaceVector",
    "local.local_laplace": "LocalLaplace LocalMean",
    "selection.ladder": "Climbed Ladder",
    "ranks.leaf_measure": "LeafMeasure",
    "selection.noisy_max": "NoisyMax",
    "selection.permute_and_flip": "PermuteAndFlip",
    "ranks.flipped_quantile": "FlippedQuantile",
    "ranks.quantile": "ExponentialQuantile",
    "ranks.quantiles_with_ends": "QuantilesWithEnds",
    "local.randomized_response": "RandomizedResponse",
    "ranks.sparse_counts": "SparseCounts",
    "numeric.smooth_cauchy": "SmoothCauchy",
    "numeric.smooth_laplace": "SmoothLaplace",
    "numeric.staircase": "Staircase",
    "numeric.threshold": "ThresholdedCounts",
    "local.two_coins": "TwoCoins",
    "local.unary_encoding": "UnaryEncoding",
    "numeric.unbounded_laplace": "UnboundedLaplace",
}
_named, __dir__ = lazy_names(__name__, _NAMES, __all__)


def __getattr__(name: str) -> Any:
    return load(f"{__name__}.l1") if name == "l1" else _named(name)
