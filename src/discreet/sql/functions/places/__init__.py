"""Places on the earth."""
