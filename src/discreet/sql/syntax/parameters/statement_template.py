"""Statements that differ in nothing but the literals of their comparisons are parsed and checked once.

    SELECT COUNT(*) FROM visits WHERE age < 45        SELECT COUNT(*) FROM visits WHERE age < 50

The literals that stand alone behind a comparison are the arguments of a statement. The second time that the text
between them is met, it is parsed with invented ones in their places. Where each of these is found exactly once, as one
side of a comparison and in no name, nothing that the parser does depends on it: a tree for other arguments is a copy of
the template with them in these places. Their meaning is decided later; `plan.generic` does so once for all of them.

Positions in such a tree are those of the invented text, so whoever refuses parses the text itself and points into that.
"""

from __future__ import annotations

import contextlib
import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.records import dataclass
from discreet.sql.syntax.nodes import copied
from discreet.sql.syntax.parse import spelled

MOST: Final = 256
"""How many templates are remembered."""
LONGEST_TEMPLATE: Final = 10_000
"""Characters of a text whose template is looked for."""
_UNUSUAL: Final = ("--", "/*", "\\", "$", "`", "#")
"""Comments and other ways to quote: a text with any of them is always parsed."""
_PLAIN: Final = re.compile(
    r"""(?: [ \t\r\n]+
    | [A-Za-z_][A-Za-z0-9_]*
    | [0-9]+(?:\.[0-9]+)?(?![A-Za-z0-9_.])
    | '[^']*'
    | "[^"]*"
    | [<>=!~^|&@+\-*/%:?(),.;\[\]{}]
    )*+""",
    re.ASCII | re.VERBOSE,
)
"""A text of plain tokens."""
_LITERAL: Final = re.compile(
    r"""(?<![<>=!~^|&@+\-*/%:?]) (?: <=? | >=? | = | <> | != ) [ \t\r\n]*
        (?: (?: (?P<decimal>[0-9]+\.[0-9]+) | (?P<whole>[0-9]+) ) (?![A-Za-z0-9_.]) | (?P<string>'[^']*') )
        (?= [ \t\r\n]* (?: \Z | [),] | (?:and|or|group|having|limit|order|qualify|then|union)(?![A-Za-z0-9_]) ) )
    | '[^']*'
    | "[^"]*"
    """,
    re.ASCII | re.VERBOSE | re.IGNORECASE,
)
"""A literal that stands alone behind a comparison, before one of these tokens; or quoted text, which holds none."""
_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)

Path: TypeAlias = tuple[tuple[str, int | None], ...]
"""The way from the root of a tree to a node: the names of arguments, and places in them where they are lists."""
TemplateKey: TypeAlias = tuple[str, ...]
"""The text between arguments, and the kinds of these, by turns."""


@dataclass(frozen=True, eq=False)
class StatementTemplate:
    """A parsed statement with places for arguments.

    Attributes:
        statement: with invented literals in them.
        paths: where these are in it.
        canonical: the canonical text between them; they stand there in the order of `order`.
        order: which of them comes when.
    """

    statement: exp.Query
    paths: tuple[Path, ...]
    canonical: tuple[str, ...]
    order: tuple[int, ...]

    def with_arguments(self, arguments: Sequence[str]) -> tuple[exp.Query, str]:
        """The statement with some arguments, and its canonical text."""
        return self.with_nodes([literal_node(literal) for literal in arguments]), self.spelled(arguments)

    def with_nodes(self, nodes: Sequence[exp.Literal]) -> exp.Query:
        """The statement with some nodes in the places of its arguments."""
        statement = copied(self.statement)
        for path, literal in zip(self.paths, nodes, strict=True):
            node: exp.Expr = statement
            for name, index in path:
                node = node.args[name] if index is None else node.args[name][index]
            node.replace(literal)
        return statement

    def spelled(self, arguments: Sequence[str]) -> str:
        """The canonical text with some arguments."""
        out = [self.canonical[0]]
        for index, piece in zip(self.order, self.canonical[1:], strict=True):
            out += [arguments[index], piece]
        return "".join(out)


def literal_node(literal: str) -> exp.Literal:
    """The node of a literal, a number or a text in single quotes."""
    text = literal[0] == "'"
    return exp.Literal(this=literal[1:-1] if text else literal, is_string=text)


_known: Final[OrderedDict[TemplateKey, StatementTemplate | Literal[False] | None]] = OrderedDict()
"""By key its template; None where there is none, and False where the key was met once."""


def template_of(text: object) -> tuple[StatementTemplate, list[str]] | None:
    """The template of a text, which texts with other arguments have as well, and its arguments.

    Returns:
        None where the text has to be parsed.

    Example:
        >>> texts = [f"SELECT a FROM t WHERE b < {n}" for n in (1, 2, 3)]
        >>> [None if found is None else found[1] for found in map(template_of, texts)]
        [None, ['2'], ['3']]
    """
    if (
        not isinstance(text, str)
        or len(text) > LONGEST_TEMPLATE
        or any(character in text for character in _UNUSUAL)
    ):
        return None
    taken = taken_apart(text)
    if taken is None or not taken[1]:
        return None
    key, arguments = taken
    if key not in _known:
        _remember(key, False)
        return None
    template = _known.get(key)
    if template is False:
        template = made(key)
        _remember(key, template)
    return None if template is None else (template, arguments)


def taken_apart(text: str) -> tuple[TemplateKey, list[str]] | None:
    """The key of the template of a text, and its arguments; None where a part of the text is no plain token."""
    if _PLAIN.fullmatch(text) is None:
        return None
    pieces, arguments, position = [], [], 0
    for match in _LITERAL.finditer(text):
        kind = match.lastgroup
        if kind is not None:
            start, end = match.span(kind)
            pieces += [text[position:start], kind]
            arguments.append(text[start:end])
            position = end
    return (*pieces, text[position:]), arguments


def made(key: TemplateKey) -> StatementTemplate | None:
    """The template of a key; None where an argument decides more than its own value."""
    kinds = key[1::2]
    invented = [_invented(kind, index) for index, kind in enumerate(kinds)]
    text = "".join(invented[index // 2] if index % 2 else piece for index, piece in enumerate(key))
    try:
        statement, canonical = spelled(text)
    except QueryRefused:
        return None
    if any(text.count(value) != 1 or canonical.count(value) != 1 for value in invented):
        return None
    values = [value.strip("'") for value in invented]
    found = {str(node.this): node for node in statement.find_all(exp.Literal) if str(node.this) in values}
    paths = [_path(found[value], statement) if value in found else None for value in values]
    order = sorted(range(len(invented)), key=lambda index: canonical.index(invented[index]))
    rest, pieces = canonical, []
    for index in order:
        piece, _, rest = rest.partition(invented[index])
        pieces.append(piece)
    if any(path is None for path in paths):
        return None
    return StatementTemplate(
        statement, tuple(path for path in paths if path is not None), (*pieces, rest), tuple(order)
    )


def _invented(kind: str, index: int) -> str:
    """A literal that nobody writes, none within another."""
    number = f"8{index:03d}5309712646"
    return {"whole": number, "decimal": f"{number}.5", "string": f"'{number}'"}[kind]


def _path(literal: exp.Expr, root: exp.Expr) -> Path | None:
    """The way to a literal that is one side of a comparison, and part of no name of a column."""
    if not isinstance(literal.parent, _COMPARISONS):
        return None
    path: list[tuple[str, int | None]] = []
    node = literal
    while node is not root:
        parent = node.parent
        if parent is None or node.arg_key is None:
            return None
        if _is_name(node):
            return None
        path.append((node.arg_key, node.index))
        node = parent
    return tuple(reversed(path))


def _is_name(node: exp.Expr) -> bool:
    """Whether the text of a part is the name of a column, as that of an item without a name is."""
    listed = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
    return listed and not isinstance(node, exp.Alias)


def _remember(key: TemplateKey, found: StatementTemplate | Literal[False] | None) -> None:
    _known[key] = found
    while len(_known) > MOST:
        with contextlib.suppress(KeyError):  # another thread was faster
            _known.popitem(last=False)
