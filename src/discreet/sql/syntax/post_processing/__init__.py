"""The statement above the noisy tables: weeks in it are counted as over rows, and sub-queries that only pick merged."""
