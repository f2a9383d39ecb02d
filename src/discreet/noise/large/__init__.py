"""Exact draws in integers of Python, one at a time, for weights and scales without end."""
