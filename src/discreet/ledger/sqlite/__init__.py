"""The store of entries in a SQLite file, with its head in a second file."""
