"""Relations of private rows, the catalogue of what a query may name, and the keys of groups."""
