"""Statements with parameters in the places of literals, so that work is done once for all literals.

The words are those of prepared statements in databases; everybody who reads, plans or writes a statement uses them:

- **parameter**: stands in the place of a literal. Its type is known and its value is not: whoever reads that raises
  `ValueNeededError`. In SQL it is written as its number.
- **arguments**: the literals of one statement. Each is put into the place of its parameter.
- **template**: a statement with parameters, or a query of an engine with them. Statements that differ in nothing but
  their arguments have one template.
- **generic**: made once, of parameters, so that it holds for all arguments: a generic reading, a generic plan. A custom
  one is made of the literals of one statement, where somebody reads one of them.
"""
