"""Regular expressions as sets of texts: their tree, the ways in which an engine can try them, and automata."""
