"""Intervals from draws: the noise is drawn again, and the statement run on all draws."""
