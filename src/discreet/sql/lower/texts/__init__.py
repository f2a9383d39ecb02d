"""Queries that are written once for all literals of a shape."""
