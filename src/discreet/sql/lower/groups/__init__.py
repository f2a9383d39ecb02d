"""The groups of an aggregate query: their keys clamped, and their numbers from public lists of keys."""
