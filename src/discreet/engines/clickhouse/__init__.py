"""ClickHouse: the data stays in its server, or in a folder of the embedded one."""

from discreet.engines.clickhouse.engine import ClickHouseEngine

__all__ = ["ClickHouseEngine"]
