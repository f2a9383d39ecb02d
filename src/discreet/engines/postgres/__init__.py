"""PostgreSQL: the data stays in its server."""

from discreet.engines.postgres.engine import PostgresEngine

__all__ = ["PostgresEngine"]
