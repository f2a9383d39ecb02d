"""Post-processing of noisy tables, and the answer."""
