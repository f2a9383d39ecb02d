"""The text of queries: written once for all arguments of a template, and not larger than a planner can bear."""
