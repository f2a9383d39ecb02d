"""A plan as the SQL of an engine. The rows of each unit are bounded here, and the integers of the engine come back."""
