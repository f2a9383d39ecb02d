"""Models of this library and of others on the same rows, splits and scores."""
