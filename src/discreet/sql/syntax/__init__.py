"""SQL text to a tree, refusals with their place, and grouping sets."""
