"""Mechanisms: noise matched to a sensitivity, with the guarantee that follows.

These are building blocks: each says in its docstring what the caller must guarantee, above all the
sensitivity. `discreet.protect` derives it instead.

Each loads on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.imports import load
from discreet.mechanisms.clamp import clamp, clamp_bias

if TYPE_CHECKING:
    from discreet.mechanisms import l1
    from discreet.mechanisms.above_threshold import AboveThreshold, Watch
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

_NAMES = {
    "above_threshold": "AboveThreshold Watch",
    "discrete_gaussian": "DiscreteGaussian",
    "exponential": "Exponential",
    "frequencies": "Frequencies",
    "hadamard_response": "HadamardResponse",
    "laplace": "Laplace",
    "laplace_error": "LaplaceError",
    "laplace_vector": "LaplaceVector",
    "local_laplace": "LocalLaplace LocalMean",
    "noisy_max": "NoisyMax",
    "permute_and_flip": "PermuteAndFlip",
    "randomized_response": "RandomizedResponse",
    "staircase": "Staircase",
    "threshold": "ThresholdedCounts",
    "two_coins": "TwoCoins",
    "unary_encoding": "UnaryEncoding",
    "unbounded_laplace": "UnboundedLaplace",
}
_FILE_OF = {name: file for file, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "l1":
        return load(f"{__name__}.l1")
    if name not in _FILE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(load(f"{__name__}.{_FILE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
