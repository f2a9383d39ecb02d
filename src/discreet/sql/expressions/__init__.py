"""Typed expressions over private rows. Each knows the values that it can take, and one spelling for equal values."""
