"""The tables of a ledger in PostgreSQL, by versions, with triggers that refuse every change of a written row."""

from __future__ import annotations

from discreet.ledger.chain.entry import FORMAT
from discreet.ledger.rows import LOSSES

_APPEND_ONLY = ("discreet_ledger", "discreet_entry", "discreet_posting", "discreet_answer", "discreet_salt")

_FIRST = (
    # One row. The random identity is the start of the chain, so that no two ledgers share one.
    "CREATE TABLE discreet_ledger (format INTEGER NOT NULL PRIMARY KEY, identity TEXT NOT NULL)",
    'CREATE TABLE discreet_entry (number BIGINT NOT NULL PRIMARY KEY, "time" TEXT NOT NULL, kind TEXT NOT NULL, '
    'question TEXT NOT NULL, question_key TEXT COLLATE "C" NOT NULL, settles BIGINT UNIQUE, digest TEXT NOT NULL, '
    "guarantee TEXT NOT NULL, event TEXT NOT NULL, description TEXT NOT NULL, totals TEXT NOT NULL, "
    "previous TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE INDEX discreet_entry_question_key ON discreet_entry (question_key)",
    'CREATE TABLE discreet_posting (account TEXT COLLATE "C" NOT NULL, number BIGINT NOT NULL, '
    f"position INTEGER NOT NULL, {', '.join(f'{column} TEXT NOT NULL' for column in LOSSES)}, "
    "rule TEXT NOT NULL, squares TEXT NOT NULL, charges BIGINT NOT NULL, PRIMARY KEY (account, number))",
    "CREATE INDEX discreet_posting_number ON discreet_posting (number)",
    # An answer in pieces, as it may be larger than memory should be.
    "CREATE TABLE discreet_answer (number BIGINT NOT NULL, piece INTEGER NOT NULL, content BYTEA NOT NULL, "
    "PRIMARY KEY (number, piece))",
    'CREATE TABLE discreet_salt (dataset_key TEXT COLLATE "C" NOT NULL PRIMARY KEY, dataset TEXT NOT NULL, '
    "salt TEXT NOT NULL)",
    # The second place: the last entry and all totals. Its one row is the lock that writers wait for.
    "CREATE TABLE discreet_head (one BOOLEAN NOT NULL PRIMARY KEY CHECK (one), number BIGINT NOT NULL, "
    "book TEXT NOT NULL)",
    "CREATE FUNCTION discreet_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'integrity_constraint_violation'; END $$",
    *(
        f"CREATE TRIGGER {table}_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION discreet_refuse()"
        for table in _APPEND_ONLY
    ),
    "CREATE FUNCTION discreet_next() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN "
    "IF NEW.number IS DISTINCT FROM (SELECT coalesce(max(number), 0) + 1 FROM discreet_entry) THEN "
    "RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'integrity_constraint_violation'; END IF; "
    "RETURN NEW; END $$",
    "CREATE TRIGGER discreet_entry_next BEFORE INSERT ON discreet_entry "
    "FOR EACH ROW EXECUTE FUNCTION discreet_next()",
    "CREATE FUNCTION discreet_last() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN "
    "IF NEW.number IS DISTINCT FROM (SELECT max(number) FROM discreet_entry) THEN "
    "RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'integrity_constraint_violation'; END IF; "
    "RETURN NEW; END $$",
    *(
        f"CREATE TRIGGER {table}_last BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION discreet_last()"
        for table in ("discreet_posting", "discreet_answer")
    ),
    "CREATE FUNCTION discreet_rise() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF TG_OP <> 'UPDATE' OR NEW.number <= OLD.number THEN "
    "RAISE EXCEPTION 'the head of the ledger only rises' USING ERRCODE = 'integrity_constraint_violation'; END IF; "
    "RETURN NEW; END $$",
    "CREATE TRIGGER discreet_head_rise BEFORE UPDATE OR DELETE ON discreet_head "
    "FOR EACH ROW EXECUTE FUNCTION discreet_rise()",
    "CREATE TRIGGER discreet_head_truncate BEFORE TRUNCATE ON discreet_head "
    "FOR EACH STATEMENT EXECUTE FUNCTION discreet_refuse()",
    f"INSERT INTO discreet_ledger (format, identity) VALUES ({FORMAT}, replace(gen_random_uuid()::text, '-', ''))",
)

MIGRATIONS = (_FIRST,)
"""The statements that make each version of the tables from the one before. The first row of the head is written by the
program, which knows the hash of an empty ledger. Versions that were released never change."""
