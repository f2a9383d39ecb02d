"""Mechanisms that choose a number by rank, and its interval with it."""
