"""SQL text to a tree. Refusals point at their place in the text, and grouping sets become plain groupings."""
