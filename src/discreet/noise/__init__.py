"""Exact random variables from a cryptographic source: the floor that every guarantee stands on.

Each function draws from exactly the distribution that its docstring writes down. None takes a seed.
These are building blocks: they know nothing of sensitivity. `discreet.mechanisms` does.
"""

from discreet.noise.bernoulli import bernoulli, bernoulli_exp, bernoulli_odds
from discreet.noise.choice import exponential_choice, permute_and_flip, uniform
from discreet.noise.gaussian import gaussian
from discreet.noise.geometric import geometric
from discreet.noise.laplace import laplace
from discreet.noise.saturate import saturating_add
from discreet.noise.staircase import staircase
from discreet.noise.unbounded import add_laplace

__all__ = [
    "add_laplace",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_odds",
    "exponential_choice",
    "gaussian",
    "geometric",
    "laplace",
    "permute_and_flip",
    "saturating_add",
    "staircase",
    "uniform",
]
