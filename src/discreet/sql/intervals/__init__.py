"""Intervals of answers: closed forms, monotone expressions, and simulation."""
