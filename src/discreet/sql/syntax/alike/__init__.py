"""Statements that are alike but for literals: their shape, which is parsed once, and blanks in the literals' places."""
