"""Mechanisms that choose: one candidate of many by its score, or which of many values are above a threshold."""
