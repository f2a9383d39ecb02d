"""Counting rows: one by one, or columns at once, with the same result."""
