"""Outlines of cells in GeoParquet 1.1: polygons in well-known binary, in longitude and latitude."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from discreet.spatial.grid import Ring

_LITTLE, _POLYGON = 1, 3
_COLUMN: Final = "geometry"


def polygon(ring: Ring) -> bytes:
    """A polygon of one ring in well-known binary (ISO 19125).

    Example:
        >>> len(polygon([(0, 0), (1, 0), (1, 1), (0, 0)]))
        77
    """
    head = struct.pack("<BIII", _LITTLE, _POLYGON, 1, len(ring))
    return head + b"".join(struct.pack("<dd", *corner) for corner in ring)


def geo_parquet(path: Path, rings: Sequence[Ring], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write cells as GeoParquet; without a reference system in its metadata, degrees are meant (OGC:CRS84)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}
    table = pa.table({**columns, _COLUMN: pa.array([polygon(ring) for ring in rings], pa.binary())})
    corners = [corner for ring in rings for corner in ring]
    about: dict[str, Any] = {"encoding": "WKB", "geometry_types": ["Polygon"]}
    if corners:
        xs, ys = zip(*corners, strict=True)
        about["bbox"] = [min(xs), min(ys), max(xs), max(ys)]
    meta = {"version": "1.1.0", "primary_column": _COLUMN, "columns": {_COLUMN: about}}
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(meta)}), path)
