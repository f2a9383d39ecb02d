"""Names in a question: schemas in front of them, and quotes around them."""
