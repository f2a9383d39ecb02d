"""Releases to people who allow different epsilons, run."""
