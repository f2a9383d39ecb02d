"""Plans that are made once for all literals of a shape, and filled with the literals of each statement."""
