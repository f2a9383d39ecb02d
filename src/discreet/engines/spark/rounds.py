"""A statement that is repeated on the cluster until nothing is left to do.

The rows of each round are kept on the executors, without the history of how they came about, which would double with
every round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def settled(session: Any, state: str, start: str, step: str, left: str) -> pa.Table:
    """How many rows there are when nothing is left to do: a table of one integer.

    Args:
        session: of Spark.
        state: the name under which the statements see the rows of the round before.
        start: gives the rows of the first round.
        step: gives those of the next one.
        left: gives one number, which is 0 when nothing is left to do.
    """
    import pyarrow as pa

    rows = session.sql(start).localCheckpoint()
    try:
        while True:
            rows.createOrReplaceTempView(state)
            if not session.sql(left).first()[0]:
                return pa.table({"n": pa.array([rows.count()], pa.int64())})
            rows = session.sql(step).localCheckpoint()
    finally:
        session.catalog.dropTempView(state)
