"""A question that takes long: its progress is shown, and Ctrl-C stops it."""
