"""The aggregates of a query: their spellings, their arguments, and the bounds that these have."""
