"""The text of queries: written once for all literals of a shape, and not larger than a planner can bear."""
