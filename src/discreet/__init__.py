"""Differential privacy for practitioners: exact noise, SQL on your own engine, a budget that holds."""

__version__ = "0.1.0"
