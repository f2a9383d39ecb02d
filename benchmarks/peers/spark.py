"""The local Spark that Tumult is asked on, with all cores.

It shuffles into as many parts as there are cores: the 200 of its default would only slow it down here.
"""

# mypy: ignore-errors
from __future__ import annotations

import os
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import SparkSession


def spark_session() -> SparkSession:
    """A Spark with as many parts as there are cores."""
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.sql.shuffle.partitions", os.cpu_count() or 2)
        .config("spark.sql.warehouse.dir", tempfile.mkdtemp())
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark
