"""Estimates of bounds and caps, from which a steward drafts a policy."""
