"""The tables of a ledger, and the triggers that refuse every change of what was written."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

identity = sa.Table(
    "discreet_ledger",
    metadata,
    sa.Column("format", sa.Integer, primary_key=True),
    sa.Column("identity", sa.String(32), nullable=False),
)
"""One row. The random identity is the start of the chain, so that no two ledgers share one."""

entries = sa.Table(
    "discreet_entry",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("time", sa.String(32), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("question_key", sa.String(64), nullable=False, index=True),  # SHA-256: a question may be long
    sa.Column("settles", sa.Integer, unique=True),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("previous", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("answer", sa.LargeBinary),
)

postings = sa.Table(
    "discreet_posting",
    metadata,
    sa.Column("account", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False, index=True),
    sa.Column("position", sa.Integer, nullable=False),
    # Rationals are text such as 1/10: no database rounds a text.
    *(
        sa.Column(f"{what}_{part}", sa.Text, nullable=False)
        for what in ("loss", "total", "limit")
        for part in ("epsilon", "delta")
    ),
    sa.Column("rule", sa.String(16), nullable=False),
    sa.Column("squares", sa.Text, nullable=False),
    sa.Column("charges", sa.Integer, nullable=False),
)

salts = sa.Table(
    "discreet_salt",
    metadata,
    sa.Column("dataset_key", sa.String(64), primary_key=True),
    sa.Column("dataset", sa.Text, nullable=False),
    sa.Column("salt", sa.String(16), nullable=False),  # hexadecimal; 2^64 - 1 is too large for an integer
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

for _name, _condition in _INSERTS.items():
    for _verb, _when in (("INSERT", f"WHEN {_condition}"), ("UPDATE", ""), ("DELETE", "")):
        sa.event.listen(
            metadata,
            "after_create",
            sa.DDL(  # type: ignore[no-untyped-call]
                f"CREATE TRIGGER {_name}_{_verb.lower()} BEFORE {_verb} ON {_name} {_when} "
                "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
            ).execute_if(dialect="sqlite"),
        )
