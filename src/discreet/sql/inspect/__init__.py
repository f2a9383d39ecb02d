"""A plan told to a person: explain, preview, warnings, and invented tables. Nothing here reads a private row."""
