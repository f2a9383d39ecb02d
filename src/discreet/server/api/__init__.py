"""The addresses for programs, under /api/v1."""
