"""One question to several data sets of different people: each owner answers with noise, and the answers are added up.

A node is a `Session` with its own data, budget and ledger. Noisy integers alone leave it, charged by its gate.
"""

from discreet.federation.federation import Federation, federate

__all__ = ["Federation", "federate"]
