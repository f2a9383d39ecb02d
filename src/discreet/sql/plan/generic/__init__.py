"""Generic readings and plans: made once of a template, for all arguments (`syntax.parameters` has the words)."""
