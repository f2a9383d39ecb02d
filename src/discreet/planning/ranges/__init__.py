"""Sums over ranges of ordered values, such as running totals: which sums of the values to measure for them."""
