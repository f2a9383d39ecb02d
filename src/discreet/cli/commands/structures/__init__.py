"""Commands for structures that are no table of numbers: graphs, maps, and classifiers."""
