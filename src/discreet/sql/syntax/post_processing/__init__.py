"""Rewrites of the statement above the noisy tables: weeks count Mondays, sub-queries that only pick are merged."""
