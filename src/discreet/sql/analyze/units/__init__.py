"""Scopes with one row for each unit: its groups, its aggregates and its windows."""
