"""Mechanisms whose later steps depend on the answers of earlier ones, under one loss that is fixed before."""

from discreet.mechanisms.adaptive.rounds import AdaptiveRounds, Rounds

__all__ = ["AdaptiveRounds", "Rounds"]
