"""Joins of private rows: with each other on their unit, and with public tables on anything."""
