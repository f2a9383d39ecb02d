"""Relations of private rows, the catalogue of tables, and the keys of groups.

How often a join repeats a row and which groups a WHERE leaves are derived here.
"""
