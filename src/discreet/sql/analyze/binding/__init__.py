"""Names and expressions of a query, bound to the columns of its rows and to the function table."""
