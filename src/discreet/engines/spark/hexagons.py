"""The function of `engines.hexagons` for Spark: computed by Python on the machines of the cluster, which need `h3`."""

from __future__ import annotations

from typing import Any

from discreet.engines.hexagons import FINEST, NAME


def provide(session: Any, sql: str) -> None:
    """Let a session compute cells of H3 if a query does; any other query costs a look at its text."""
    if NAME in sql:
        from pyspark.sql.types import LongType

        session.udf.register(NAME, _function(FINEST), LongType())


def see(session: Any, sql: str) -> None:
    """See that a machine of the cluster has the library, if a query needs it; reads no data.

    Raises:
        Exception: of Spark, where it has not.
    """
    if NAME in sql:
        provide(session, sql)
        session.sql(f"SELECT {NAME}(0D, 0D, 0L)").toArrow()


def _function(finest: int) -> Any:
    """A function that is sent whole, so that the machines need no discreet."""

    def cell(lat: float | None, lng: float | None, resolution: int | None) -> int | None:
        from h3.api.basic_int import latlng_to_cell

        if lat is None or lng is None or resolution is None or not 0 <= resolution <= finest:
            return None
        if not (abs(lat) <= 90 and abs(lng) <= 180):
            return None
        return int(latlng_to_cell(lat + 0.0, lng + 0.0, resolution))

    return cell
