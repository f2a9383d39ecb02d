"""Sub-queries in the conditions of a scope, which look up rows of the same unit or a number of a group."""
