"""Post-processing of noisy tables, in memory and block by block. It reads public numbers only, and makes the answer."""
