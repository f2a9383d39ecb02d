"""Cards: the record of an answer or of a deployment, for readers and registries."""
