"""Typed expressions over private rows, the values that they can take, and their spelling."""
