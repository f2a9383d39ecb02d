"""Commands for structures that are no table of numbers: maps."""
