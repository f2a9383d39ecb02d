"""The forms of SQL with a regular expression whose place matters: extract and replace."""

from __future__ import annotations

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql.analyze.binding.binder import Binder, Form
from discreet.sql.expressions.expression import Expression, Literal
from discreet.sql.functions.patterns import finds_nothing, groups, one_group, portable, problem

EXTRACT, REPLACE = "Write regexp_extract(x, '^([a-z]+)@', 1).", "Write regexp_replace(x, '[0-9]+', '#', 'g')."


def _pattern(binder: Binder, node: exp.Expr, fix: str) -> str:
    text = str(binder.literal(node, str, "The pattern must be a literal.", fix).value)
    wrong = problem(text)
    if not wrong and finds_nothing(text):
        wrong = "it fits an empty text, of which engines find more or fewer"
    if wrong:
        raise binder.refuse(node, f"This pattern cannot be used: {wrong}.", fix)
    return portable(text)


def _extract(binder: Binder, node: exp.Expr) -> Expression:
    subject, pattern, *more = binder.arguments(node, "this", "expression", "group", "null_if_pos_overflow")[
        :3
    ]
    text, number = _pattern(binder, pattern, EXTRACT), 0
    if more and isinstance(more[0], exp.Literal | exp.Neg):
        said = binder.literal(more[0], int, "The number of the group must be a literal.", EXTRACT).value
        assert isinstance(said, int)
        number = said
        if not 0 <= number <= groups(text):
            raise binder.refuse(more[0], f"This pattern has no group {number}.", EXTRACT)
    elif more and isinstance(more[0], exp.Expr):
        raise binder.refuse(more[0], "The group must be a number.", EXTRACT)
    found = Literal(one_group(text, number), Type.TEXT)
    return binder.apply(node, "regexp_extract", [binder.bind(subject), found], [subject, pattern])


def _replace(binder: Binder, node: exp.Expr) -> Expression:
    nodes = binder.arguments(node, "this", "expression", "replacement", "modifiers", "single_replace")
    subject, pattern = nodes[:2]
    replacement = node.args.get("replacement") or exp.Literal.string("")
    said = node.args.get("modifiers")
    options = said.name if isinstance(said, exp.Literal) else ""
    if said is not None and options not in ("", "g"):
        raise binder.refuse(said, "Of the options of a pattern only 'g' is supported.", REPLACE)
    text = _pattern(binder, pattern, REPLACE)
    new = binder.literal(replacement, str, "The replacement must be a literal.", REPLACE)
    # A pattern of the beginning fits once, and not every engine can replace the first place alone.
    once = text.startswith("^") and "|" not in text
    if groups(text) != 1:
        if "\\1" in str(new.value) and not groups(text):
            raise binder.refuse(replacement, "This pattern has no group, of which \\1 speaks.", REPLACE)
        text = one_group(text, 1 if groups(text) else 0)
    name = "regexp_replace_all" if options == "g" or once else "regexp_replace"
    return binder.apply(
        node, name, [binder.bind(subject), Literal(text, Type.TEXT), new], [subject, pattern, replacement]
    )


FORMS: dict[type[exp.Expr], Form] = {exp.RegexpExtract: _extract, exp.RegexpReplace: _replace}
