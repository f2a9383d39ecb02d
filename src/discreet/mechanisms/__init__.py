"""Mechanisms: noise matched to a sensitivity, with the guarantee that follows.

These are building blocks: each says in its docstring what the caller must guarantee, above all the
sensitivity. `discreet.protect` derives it instead.
"""

from discreet.mechanisms import l1
from discreet.mechanisms.above_threshold import AboveThreshold, Watch
from discreet.mechanisms.clamp import clamp, clamp_bias
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.frequencies import Frequencies
from discreet.mechanisms.hadamard_response import HadamardResponse
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.laplace_error import LaplaceError
from discreet.mechanisms.laplace_vector import LaplaceVector
from discreet.mechanisms.local_laplace import LocalLaplace, LocalMean
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.threshold import ThresholdedCounts
from discreet.mechanisms.two_coins import TwoCoins
from discreet.mechanisms.unary_encoding import UnaryEncoding
from discreet.mechanisms.unbounded_laplace import UnboundedLaplace

__all__ = [
    "AboveThreshold",
    "DiscreteGaussian",
    "Exponential",
    "Frequencies",
    "HadamardResponse",
    "Laplace",
    "LaplaceError",
    "LaplaceVector",
    "LocalLaplace",
    "LocalMean",
    "NoisyMax",
    "PermuteAndFlip",
    "RandomizedResponse",
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
