"""Keep pyspark's own entry about a failed query out of the log: it quotes the SQL, with its secret salt, and data."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_quiet = threading.local()


class _Ours(logging.Filter):
    """Lets nothing pass that is logged while this thread asks a question."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it may be logged."""
        return not getattr(_quiet, "asking", False)


_OURS = _Ours()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Log nothing of the queries that this thread runs; other threads log as before."""
    from pyspark.logger import PySparkLogger

    for name in LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_OURS)  # the same filter is added once
    before, _quiet.asking = getattr(_quiet, "asking", False), True
    try:
        yield
    finally:
        _quiet.asking = before
