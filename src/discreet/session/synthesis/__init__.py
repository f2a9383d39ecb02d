"""Synthetic tables of a session: from a private table to axes, counts and a release."""
