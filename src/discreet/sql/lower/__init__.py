"""A plan as the SQL of an engine, contribution bounding, and the integers that come back."""
