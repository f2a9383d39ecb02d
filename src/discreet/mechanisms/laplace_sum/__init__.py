"""How far a sum of independent Laplace variables strays: the tail of the sum, and the half-width of its interval.

Three ways, each where it is best:

| module | for | how exact |
|---|---|---|
| `equal` | n variables of one scale, n up to 10^7 | to about 1e-9 |
| `weighted` | arrays of weighted sums, one for each group of an answer | exact for up to 4 weights |
| `scales` | one sum of variables of any scales | to about 1e-7 |
"""
