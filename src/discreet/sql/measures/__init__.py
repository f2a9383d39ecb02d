"""The integers that are summed for each group. A measure says how far one row moves them, and estimates from them."""
