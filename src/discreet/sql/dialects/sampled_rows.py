"""A simple random sample of each unit's rows in PostgreSQL, from one ordering of the rows.

The m rows of a unit are numbered from 0 in the order of their values; which of several that are alike has which number
does not matter. Of the numbers a sample of k is drawn by Floyd's algorithm: draw j is one of the first m - k + j numbers,
and where an earlier draw took it, the last of these is taken instead. So each set of k numbers is as likely: after draw j
the sample is a set of j of the first m - k + j numbers, each of which is as likely, by induction on j.

The draws are hashes of the unit, so a row tells from its number and from m alone whether it is in the sample. To rank the
rows by a hash would take a second ordering, and half as long again. Nothing is gathered in memory, however many rows a
unit has.
"""

from __future__ import annotations

from discreet.engines.schema import Type
from discreet.sql.expressions.dialect import NUMBER, RowSelection

FEW = 6
"""Samples up to this size are drawn so; the text of the condition doubles with each row more."""
SEED, COUNT = "__seed", "__count"
_HASHES = {Type.INTEGER.name: "hashint8extended({0}, {1})", Type.TEXT.name: "hashtextextended({0}, {1})"}
_ANY_HASH = "hash_record_extended(ROW({0}), {1})"


def sampled(kept: RowSelection) -> str | None:
    """The rows that are kept; None where they are too many, or need no numbers."""
    size = kept.max_rows
    if size > FEW or not kept.numbered:
        return None
    names = ", ".join(kept.names)
    order = ", ".join(f"{name} ASC NULLS LAST" for name in kept.names)
    numbers = (
        f"{unit_hash(kept)} AS {SEED}, row_number() OVER w - 1 AS {NUMBER}, "
        f"GREATEST(count(*) OVER w, {size}) AS {COUNT}"
    )
    window = (
        f"PARTITION BY {kept.unit} ORDER BY {order} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    )
    rows = f"SELECT {names}, {numbers} FROM {kept.source} WINDOW w AS ({window})"
    draws = ", ".join(
        f"abs(hashint8extended({j}, {SEED}) % ({COUNT} - {size - j})) AS d{j}" for j in range(1, size + 1)
    )
    # Of a CASE the planner thinks that it holds for every other row, which is about right.
    return (
        f"SELECT {names} FROM ({rows}) AS n LEFT JOIN LATERAL (SELECT {draws}) AS d ON TRUE "
        f"WHERE CASE WHEN {COUNT} = {size} THEN TRUE ELSE {_taken(size)} END"
    )


def unit_hash(kept: RowSelection) -> str:
    """A hash of the unit, keyed with the salt; that of a record takes any type, and longer."""
    return _HASHES.get(kept.unit_kind, _ANY_HASH).format(kept.unit, signed(kept.salt))


def signed(salt: int) -> str:
    """64 bits as PostgreSQL has them."""
    return f"CAST({salt - 2**64 if salt >= 2**63 else salt} AS BIGINT)"


def _taken(size: int) -> str:
    """Whether the number of a row is in the sample: it was drawn, or stood in for one that was drawn again."""
    last = {j: f"{COUNT} - {size - j + 1}" for j in range(1, size + 1)}
    again: dict[int, str] = {}
    for j in range(2, size + 1):
        drawn = [f"d{j} = d{i}" for i in range(1, j)]
        again[j] = " OR ".join([*drawn, *(f"(d{j} = {last[i]} AND ({again[i]}))" for i in again)])
    return " OR ".join(
        [
            *(f"{NUMBER} = d{j}" for j in range(1, size + 1)),
            *(f"({NUMBER} = {last[j]} AND ({condition}))" for j, condition in again.items()),
        ]
    )
