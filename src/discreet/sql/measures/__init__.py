"""The integers that are summed, how far one row moves them, and what they estimate."""
