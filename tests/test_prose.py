"""Sentences begin with their subject: no headless *what*, no *as it is*, no *there is no such* far from its noun.

Read are the docstrings, comments and other strings of all modules, error messages among them, and the pages.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_readme import ROOT

SOURCE = ROOT / "src" / "discreet"
ROOMS = ("", *sorted(path.parent.name for path in SOURCE.glob("*/__init__.py")))
"""All rooms, and the modules beside them under the empty name."""
PAGES = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "docs/*.md")

RULES = {
    # Any *what* but that of a direct question: "What does it cost?"
    "a headless what": re.compile(r"\bwhat(ever)?\b(?![^.!;:?]*\?)", re.IGNORECASE),
    "as it is": re.compile(r"\bas (it|they) (is|are|was|were)\b", re.IGNORECASE),
    "there is no such": re.compile(r"\bThere (is|are) no such\b"),
}
_GAP = r"(\\n|\W|\Wf(?=[\"']))+"
TOUCHED = re.compile(
    rf"what|as{_GAP}(it|they){_GAP}(is|are|was|were)\b|(is|are){_GAP}no{_GAP}such\b", re.IGNORECASE
)
"""A module without any of these breaks no rule: words of a sentence stand on one line, on two, or in two strings."""
ALLOWED: tuple[str, ...] = (
    "what: the statistic, in words, for the card.",  # the parameter `what` of `Session.release`
    "Args: what:",  # the parameter `what`, a quantity: ruff asks for its bare name (D417)
    # Descriptions of entries, which ledgers keep.
    "taken over with what may have been spent in entries that are gone",
    "what was charged before counts {} times since the policy has changed",
)
"""Sentences that break a rule and are right. Each needs its reason beside it."""


def _plain(text: str) -> str:
    """Text on one line, without examples and without names of code."""
    prose, example = [], False
    for line in text.splitlines():
        example = line.strip().startswith(">>>") or (example and bool(line.strip()))
        prose += [] if example else [line]
    return " ".join(re.sub(r"``.*?``|`[^`]*`", "`", " ".join(prose)).split())


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """The comments, those on lines one after the other as one."""
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != last + 1 and block:
            yield first, " ".join(block)
            block = []
        first, last = (first if block else token.start[0]), token.start[0]
        block.append(token.string.lstrip("#: "))
    if block:
        yield first, " ".join(block)


def _strings(source: str) -> Iterator[tuple[int, str]]:
    """The strings of several words: docstrings, messages and the rest; a value in an f-string is {}."""
    parts: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts.update(map(id, node.values))
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value


def faults(pieces: Iterator[tuple[int, str]]) -> list[str]:
    """The rules that a text breaks, each with its line and the words around it."""
    found = []
    for line, text in pieces:
        plain = _plain(text)
        for sentence in ALLOWED:
            plain = plain.replace(sentence, "")
        if " " not in plain:
            continue
        for rule, pattern in RULES.items():
            found += [
                f"{line}: {rule}: {plain[max(0, hit.start() - 40) : hit.end() + 40]}"
                for hit in pattern.finditer(plain)
            ]
    return found


def of_module(source: str) -> list[str]:
    """The faults of a module."""
    if not TOUCHED.search(source):
        return []
    # To look for comments takes longest, and lines with a # hold them all.
    hashed = "\n".join(line[line.index("#") :] for line in source.splitlines() if "#" in line)
    comments = faults(_comments(source)) if TOUCHED.search(hashed) else []
    return comments + faults(_strings(source))


def of_page(text: str) -> list[str]:
    """The faults of a page of Markdown, outside its code and its comments."""
    for code in (r"^```.*?^```", r"<!--.*?-->"):
        text = re.sub(code, lambda hit: "\n" * hit[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    return faults(iter(enumerate(text.splitlines(), 1)))


def _modules(room: str) -> list[Path]:
    return sorted((SOURCE / room).rglob("*.py") if room else SOURCE.glob("*.py"))


def test_every_module_is_read() -> None:
    read = [path for room in ROOMS for path in _modules(room)]
    assert sorted(read) == sorted(SOURCE.rglob("*.py"))
    assert len(read) > 50


@pytest.mark.parametrize("room", ROOMS)
def test_sentences_of_a_room(room: str) -> None:
    found = {str(path.relative_to(SOURCE)): of_module(path.read_text("utf-8")) for path in _modules(room)}
    assert {name: said for name, said in found.items() if said} == {}


@pytest.mark.parametrize(
    "page", sorted(path for pattern in PAGES for path in ROOT.glob(pattern)), ids=lambda page: page.name
)
def test_sentences_of_a_page(page: Path) -> None:
    assert of_page(page.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "The odometer says what was spent.",
        "What is left is the error.",
        "It never raises, whatever the message holds.",
        "Use it as it is.",
        "Numbers are read as they are written.",
        "There is no such accountant.",
    ],
)
@pytest.mark.parametrize(
    "module",
    [
        '"""{}"""',
        'def f() -> None:\n    """Do it.\n\n    Args:\n        x: a number. {}\n\n    >>> f()\n    """',
        "x = 1  # {}",
        'LIMIT = 1\n"""{}"""',
        'raise InvalidParameter(f"{{name}} is wrong.", "{}")',
        'raise InvalidParameter(f"{{name}}: {} It has a name.")',
    ],
)
def test_a_planted_sentence_is_found(module: str, sentence: str) -> None:
    assert of_module(module.format("Nothing is wrong.")) == []
    assert len(of_module(module.format(sentence))) == 1


@pytest.mark.parametrize(
    "wrapped", ['"""The rest is\nwhat is left."""', "# Numbers are read as\n# they are written."]
)
def test_a_sentence_is_found_over_the_end_of_a_line(wrapped: str) -> None:
    assert len(of_module(wrapped)) == 1


def test_a_planted_sentence_of_a_page_is_found_outside_code_only() -> None:
    page = "Text.\n\n```sql\nSELECT 1 AS what -- as it is\n```\n<!-- end of what was measured -->\n{}\n"
    assert of_page(page.format("The rest.")) == []
    assert of_page(page.format("What is left is the error.")) == [
        "7: a headless what: What is left is the error."
    ]


def test_other_sentences_are_let_through() -> None:
    right = (
        '"""What does it cost? It says how, and whether. No index is so large, as 3 is.\n\n'
        '    >>> print("what")\n    what\n    """\n'
        'KIND = "what"  # the parameter `what` of a release\n'
    )
    assert of_module(right) == []
