"""A ledger in a PostgreSQL database, which processes on several hosts share."""
