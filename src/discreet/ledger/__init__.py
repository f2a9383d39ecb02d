"""The durable budget."""

from discreet.accounting.loss import UNIT, Loss
from discreet.ledger.entry import Account, Charge, Entry, Head, Posting
from discreet.ledger.ledger import Ledger, open_ledger

__all__ = ["UNIT", "Account", "Charge", "Entry", "Head", "Ledger", "Loss", "Posting", "open_ledger"]
