"""Scopes, FROM, binding of names, per-unit and release scopes, and the aggregates that are asked for."""
