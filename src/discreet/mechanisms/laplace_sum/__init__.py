"""The sum of independent Laplace variables: the half-width of its interval, and its tail.

`half_width` is what others ask; it says which of the three ways is best where. `equal`, `weighted` and `scales` hold
them.
"""
