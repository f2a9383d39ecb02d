"""The durable budget. Every charge is an entry of a hash-chained file, and is on the disk before data is read."""

from discreet.accounting.loss import UNIT, Loss
from discreet.ledger.chain.entry import Account, Charge, Entry, Head, Posting
from discreet.ledger.ledger import Ledger
from discreet.ledger.opening import exists, named, open_ledger

__all__ = [
    "UNIT",
    "Account",
    "Charge",
    "Entry",
    "Head",
    "Ledger",
    "Loss",
    "Posting",
    "exists",
    "named",
    "open_ledger",
]
