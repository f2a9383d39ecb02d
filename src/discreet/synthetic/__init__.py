"""Synthetic tables: a model of the joint distribution from noisy marginals, and rows drawn from it."""
