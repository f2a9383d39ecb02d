"""The tables of a ledger, and the triggers that refuse every change of a written row."""

from __future__ import annotations

from discreet.ledger.rows import LOSSES

_TABLES = (
    # One row. The random identity is the start of the chain, so that no two ledgers share one.
    "CREATE TABLE discreet_ledger (format INTEGER NOT NULL PRIMARY KEY, identity VARCHAR(32) NOT NULL)",
    # The key of a question is its SHA-256, for it may be long.
    "CREATE TABLE discreet_entry (number INTEGER NOT NULL PRIMARY KEY, time VARCHAR(32) NOT NULL, "
    "kind VARCHAR(16) NOT NULL, question TEXT NOT NULL, question_key VARCHAR(64) NOT NULL, "
    "settles INTEGER UNIQUE, digest VARCHAR(64) NOT NULL, guarantee TEXT NOT NULL, event TEXT NOT NULL, "
    "description TEXT NOT NULL, "
    "totals VARCHAR(64) NOT NULL, previous VARCHAR(64) NOT NULL, "
    "hash VARCHAR(64) NOT NULL, answer BLOB)",
    "CREATE INDEX ix_discreet_entry_question_key ON discreet_entry (question_key)",
    "CREATE TABLE discreet_posting (account VARCHAR(200) NOT NULL, number INTEGER NOT NULL, "
    f"position INTEGER NOT NULL, {', '.join(f'{column} TEXT NOT NULL' for column in LOSSES)}, "
    "rule VARCHAR(16) NOT NULL, squares TEXT NOT NULL, charges INTEGER NOT NULL, PRIMARY KEY (account, number))",
    "CREATE INDEX ix_discreet_posting_number ON discreet_posting (number)",
    # Salts are hexadecimal: 2^64 - 1 is too large for an integer.
    "CREATE TABLE discreet_salt (dataset_key VARCHAR(64) NOT NULL PRIMARY KEY, dataset TEXT NOT NULL, "
    "salt VARCHAR(16) NOT NULL)",
)

# INSERT OR REPLACE deletes without a DELETE trigger, hence the conditions on inserts too.
_INSERTS = {
    "discreet_ledger": "EXISTS (SELECT 1 FROM discreet_ledger)",
    "discreet_entry": "NEW.number IS NOT (SELECT COALESCE(MAX(number), 0) + 1 FROM discreet_entry) OR "
    "EXISTS (SELECT 1 FROM discreet_entry WHERE settles = NEW.settles)",
    "discreet_posting": "NEW.number IS NOT (SELECT MAX(number) FROM discreet_entry) OR EXISTS "
    "(SELECT 1 FROM discreet_posting WHERE number = NEW.number AND account = NEW.account)",
    "discreet_salt": "EXISTS (SELECT 1 FROM discreet_salt WHERE dataset_key = NEW.dataset_key)",
}

_TRIGGERS = tuple(
    f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} {when} "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    for table, condition in _INSERTS.items()
    for verb, when in (("INSERT", f"WHEN {condition}"), ("UPDATE", ""), ("DELETE", ""))
)

MAKE = (*_TABLES, *_TRIGGERS)
"""The statements that make an empty ledger, but for its row of identity."""
