"""Binds a query: its scopes, its FROM clauses, its names and its aggregates.

A construct whose sensitivity cannot be derived is refused here.
"""
