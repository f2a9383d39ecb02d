r"""How text that others wrote is shown, one function for each place where it ends up.

A key that was found in the data, an alias or a file name may hold anything: control characters that a terminal obeys,
marks that turn the direction of writing, characters that nobody sees, line ends that forge a line of a table, markup, a
formula. All text that is shown goes through the function of its sink:

| sink | function |
|---|---|
| a value in a line of text: terminals, `repr` | `cell` |
| words of several lines: messages, cards | `prose` |
| HTML, SVG | `markup` |
| words inside a picture | `picture` |
| JSON, as text | `json_text` |
| JSON inside a script of a page | `script` |
| a cell of a CSV file | `formula` |
| a text in TOML | `toml_text` |

Escapes are those of Python, `\x1b` and `\u202e`; in pictures `[U+001B]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

LONGEST_VALUE = 200
"""How many characters of one value are shown."""

_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters without a shape of their own, some of which Python counts as printable (Unicode, Default_Ignorable)."""
FORMULA = "^'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
"""The beginnings of text that a spreadsheet runs, as a pattern for Python and for RE2."""


def _is_odd(text: str) -> bool:
    return not text.isprintable() or _UNSEEN.search(text) is not None


def _escaped(text: str) -> str:
    return "".join(_code(c) if _is_odd(c) else c for c in text)


def _code(c: str) -> str:
    number = ord(c)
    if c in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[c]
    return (
        f"\\x{number:02x}"
        if number < 0x100
        else f"\\u{number:04x}"
        if number < 0x10000
        else f"\\U{number:08x}"
    )


def cell(text: str) -> str:
    r"""One value in a line: on one line, with nothing in it that moves, hides or recolours anything.

    Plain text stays plain. Odd text stands in quotation marks with its odd characters written out, so that two values
    that differ are shown differently: also text with spaces at its ends or several in a row, which could pass for two
    columns, no text at all, and the dash that stands for a missing value.

    Example:
        >>> print(cell("Kent"), cell("Kent  99 \u00b1 1\nEssex"), cell(" "))
        Kent "Kent  99 ± 1\nEssex" " "
    """
    odd = _is_odd(text)
    if (
        not odd
        and len(text) <= LONGEST_VALUE
        and text == text.strip()
        and "  " not in text
        and text[:1] not in ('"', "")
    ):
        return text if text != "-" else '"-"'
    shown = text[:LONGEST_VALUE].replace("\\", "\\\\").replace('"', '\\"')
    more = f"… ({len(text):,} characters)" if len(text) > LONGEST_VALUE else ""
    return f'"{_escaped(shown) if odd else shown}"{more}'


def name(text: str) -> str:
    r"""The name of a column, or words of one line, in which odd characters are written out.

    Example:
        >>> print(name("n\x1b[2J"))
        n\x1b[2J
    """
    return _escaped(text) if _is_odd(text) else text


def prose(text: str) -> str:
    r"""Words of several lines, in which line ends and tabs stay and all other odd characters are written out.

    Example:
        >>> print(prose("two\nlines, one \x07 bell"))
        two
        lines, one \x07 bell
    """
    return "".join(c if c in "\n\t" else _escaped(c) for c in text) if _is_odd(text) else text


def markup(text: str) -> str:
    r"""Words in HTML or SVG, as text and inside attributes.

    Example:
        >>> print(markup("<b>\x00"))
        &lt;b&gt;\x00
    """
    import html  # it knows all names of characters, and most processes write no page

    return html.escape(prose(text))


def row(kind: str, cells: Sequence[str], sides: Sequence[str]) -> str:
    """One row of a table of HTML, of `td` or of `th`, each cell aligned to its side."""
    style = "white-space:pre-wrap"
    inner = (
        f"<{kind} style='text-align:{side};{style}'>{markup(cell)}</{kind}>"
        for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(inner)}</tr>"


def table(lines: Iterable[Sequence[str]], title: str = "") -> str:
    """Names with a description of each, as a table of HTML."""
    above = f"<caption style='text-align:left;white-space:nowrap'>{markup(title)}</caption>" if title else ""
    body = "".join(row("td", line, ["left"] * len(line)) for line in lines)
    return f"<table>{above}<tbody>{body}</tbody></table>"


def picture(text: str) -> str:
    r"""Words in a picture, on one line: the renderer fails at control characters, and half a character is no text.

    Vega reads a backslash in a title as the beginning of an escape, so another sign stands for it.

    Example:
        >>> print(picture("a\x01\ud800"))
        a[U+0001][U+D800]
    """
    return pictured(text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…", lines=False)


def pictured(text: str, lines: bool = True) -> str:
    """The same for words of any length, in which line ends may stay."""
    if "\\" not in text and not _is_odd(text):
        return text
    text = text.replace("\\", "\N{SET MINUS}")
    return "".join(f"[U+{ord(c):04X}]" if _is_odd(c) and not (lines and c == "\n") else c for c in text)


def json_text(document: str) -> str:
    r"""JSON that is safe to print: odd characters are written as JSON writes them, so it reads as the same document.

    Example:
        >>> print(json_text('{\n "a": "\u202e"}'))
        {
         "a": "\u202e"}
    """
    return "\n".join(
        line if not _is_odd(line) else "".join(_units(c) if _is_odd(c) else c for c in line)
        for line in document.split("\n")
    )


def _units(c: str) -> str:
    """A character as JSON escapes it, in one or two units of UTF-16."""
    units = c.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[offset]:02x}{units[offset + 1]:02x}" for offset in range(0, len(units), 2))


def toml_text(text: str) -> str:
    r"""A text as a basic string of TOML, which reads as the same text.

    Example:
        >>> print(toml_text('a"\x1b\u202e\U000e0041'))
        "a\"\u001b\u202E\U000E0041"
    """
    return toml_document(json.dumps(text, ensure_ascii=False))


def toml_document(document: str) -> str:
    """TOML whose odd characters stand in basic strings alone, with each of them written out."""
    return "".join(c if c == "\n" or not _is_odd(c) else _toml_code(ord(c)) for c in document)


def _toml_code(number: int) -> str:
    return f"\\u{number:04X}" if number < 0x10000 else f"\\U{number:08X}"


def script(document: str) -> str:
    r"""JSON inside a script of a page, which no `</script>` in a text can end.

    Example:
        >>> print(script('"</script>"'))
        "\u003c/script\u003e"
    """
    for c in "<>&":
        document = document.replace(c, _units(c))
    return json_text(document)


def formula(text: str) -> str:
    """A cell of a CSV file, with an apostrophe before text that a spreadsheet would run as a formula.

    Text that begins with apostrophes and then the sign of a formula gets one more, so that one can always be taken off.

    Example:
        >>> formula("=1+1"), formula("Kent"), formula("'=1")
        ("'=1+1", 'Kent', "''=1")
    """
    return f"'{text}" if re.match(FORMULA, text) else text


__all__ = [
    "FORMULA",
    "LONGEST_VALUE",
    "cell",
    "formula",
    "json_text",
    "markup",
    "name",
    "picture",
    "pictured",
    "prose",
    "row",
    "script",
    "table",
    "toml_document",
    "toml_text",
]
