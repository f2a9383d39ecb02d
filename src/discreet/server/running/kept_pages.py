"""DuckDB keeps the memory of a query for the next one, in a process that serves.

DuckDB's allocator (jemalloc) gives pages back to the system within a second of their last use, and the next query
touches them anew: a hundred page faults for each question, which on a virtual machine cost a twentieth of its
processor time. With this setting pages stay for half a minute. So memory after a large query goes back later, and the
most that is used at once is the same.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping

VARIABLE = "DUCKDB_JE_MALLOC_CONF"
"""The variable of the environment that DuckDB's allocator reads when DuckDB is loaded."""
SECONDS = 30


def keep_pages(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let DuckDB keep pages, here and in processes that are begun from here; before DuckDB is loaded.

    A setting of the steward's own stays.

    Args:
        environment: where the setting goes.

    Example:
        >>> place = {}
        >>> keep_pages(place)
        >>> place
        {'DUCKDB_JE_MALLOC_CONF': 'dirty_decay_ms:30000,muzzy_decay_ms:30000'}
    """
    each = SECONDS * 1000
    environment.setdefault(VARIABLE, f"dirty_decay_ms:{each},muzzy_decay_ms:{each}")
