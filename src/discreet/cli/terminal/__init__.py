"""The process at its terminal: its standard streams, and the signals that end it."""
