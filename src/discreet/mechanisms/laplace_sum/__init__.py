"""The sum of independent Laplace variables: the half-width of its interval, and its tail.

`half_width` is the function for others; it takes the best of the three ways. `equal`, `weighted` and `scales` hold
them.
"""
