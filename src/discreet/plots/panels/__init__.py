"""The panels of pictures of releases."""
