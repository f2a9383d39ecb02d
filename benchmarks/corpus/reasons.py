"""Why no private answer to a question exists, or none in SQL: the named reasons that a question of the corpus may give.

A refusal of a question with one of them is right. A refusal of any other question is one without need.
"""

REASONS = {
    "rows": "single rows, or values that are only in single rows, would leave",
    "unit": "a number for each single privacy unit would leave",
    "order": "which rows count is decided by the rows of other units",
    "pairs": "rows of different units are paired, so one unit moves the answer without limit",
    "limits": "nothing says how far one unit can move the answer; the steward has to declare it, or the analyst clamp",
    "groups": "which groups there are is private, and no delta is given",
    "texts": "texts of single rows would be put together",
    "chance": "the answer would depend on the moment or on chance, not on the data alone",
    "outside": "something outside the session would be read, written or changed",
    "failing": "it fails in plain SQL, or on some values",
    "nobody": "no row can satisfy it, which the text alone says",
}
