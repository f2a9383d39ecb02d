"""Intervals of answers, by closed forms, through monotone expressions, or by simulation.

Where noise picks the rows, they come from simultaneous bands.
"""
