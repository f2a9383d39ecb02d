"""Spark: the data stays on the cluster."""

from discreet.engines.spark.engine import SparkEngine

__all__ = ["SparkEngine"]
