"""A question that takes long: its progress is shown, Ctrl-C stops it, and one that would not end is not begun."""
