"""The tables of keys that stand beside a query, and their digests: short ones are made once for all questions.

The same keys are grouped by again and again, with other literals and epsilons, and to make a table of three texts takes
as long as to write the query.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections import OrderedDict
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet import arrow
from discreet.engines.schema import Type, arrow_type
from discreet.sql.algebra.keys import Key

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS: Final = 1000
"""Longer lists are made anew: they would fill memory."""
MOST: Final = 128
"""How many lists, and how many digests, are kept."""
_EXACT: Final = (Type.TEXT, Type.INTEGER)
"""The types of which two values that Python holds equal are the same; 0.0 and -0.0 are not."""

_digests: Final[OrderedDict[int, tuple[pa.Table, bytes]]] = OrderedDict()


def key_list(keys: tuple[tuple[int, Key], ...]) -> pa.Table:
    """The values of keys that run side by side, in columns `key0` and so on for key 0 and so on, and `at`.

    Args:
        keys: with their numbers.
    """
    if any(len(key.values) > MOST_ROWS or key.expression.type not in _EXACT for _, key in keys):
        return _made(tuple((f"key{index}", key.arrow()) for index, key in keys))
    return _cached_table(tuple((f"key{index}", key.expression.type, key.values) for index, key in keys))


@lru_cache(MOST)
def _cached_table(columns: tuple[tuple[str, Type, tuple[Any, ...]], ...]) -> pa.Table:
    return _made(tuple((name, arrow.listed(values, arrow_type(kind))) for name, kind, values in columns))


def _made(columns: tuple[tuple[str, pa.Array], ...]) -> pa.Table:
    import pyarrow as pa

    return pa.table({**dict(columns), "at": arrow.column(np.arange(len(columns[0][1])))})


def digest_of(table: pa.Table) -> bytes:
    """A hash of a table: of its types and its values."""
    import pyarrow as pa

    known = _digests.get(id(table))
    if known is not None and known[0] is table:  # the entry holds it, so the number is its own
        return known[1]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    digest = hashlib.sha256(sink.getvalue()).digest()
    if table.num_rows <= MOST_ROWS:
        _digests[id(table)] = table, digest
        while len(_digests) > MOST:
            with contextlib.suppress(KeyError):  # another thread was faster
                _digests.popitem(last=False)
    return digest
