"""Whatever text is shown, each sink shows it harmlessly; two texts that differ are shown differently."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow as pa
import pytest

from discreet import escaping
from discreet.cli.failure import words
from discreet.cli.output import print_csv, print_table
from discreet.errors import QueryRefused
from discreet.release.answer import Release
from discreet.release.answer_file import without_formulas
from discreet.release.documents import dump
from tests import shared
from tests.depth import examples
from tests.nasty import ALL, BIDI, BREAKS, CONTROLS, FORBIDDEN, UNSEEN, WHOLE, texts

MANY = texts(examples(1000, 10_000), 10)


def unsafe(text: str, allowed: str = "") -> set[str]:
    """The characters that a terminal obeys or nobody sees."""
    return {c for c in text if c not in allowed and (c in FORBIDDEN or not c.isprintable())}


def test_a_cell_is_one_line_without_anything_odd_and_no_two_texts_look_alike() -> None:
    shown = [escaping.cell(text) for text in MANY]
    assert not any(unsafe(text) for text in shown)
    short = {text: escaping.cell(text) for text in MANY if len(text) <= escaping.LONGEST_VALUE}
    assert len(set(short.values())) == len(short)
    assert "-" not in shown
    assert not any("  " in text and not text.startswith('"') for text in shown)
    assert all(len(text) <= 12 * escaping.LONGEST_VALUE for text in shown)


def test_plain_text_stays_plain() -> None:
    for text in ("Kent", "Zürich-Nord", "東京", "a b", "50 %", "O'Hara", "C:\\x", 'a"b', "—"):
        assert escaping.cell(text) == escaping.name(text) == escaping.prose(text) == text


def test_prose_keeps_line_ends_and_nothing_else() -> None:
    assert not any(unsafe(escaping.prose(text), "\n\t") for text in MANY)
    assert escaping.prose("a\n\tb\r") == "a\n\tb\\r"


def test_markup_is_text_in_html_and_in_xml() -> None:
    for text in MANY:
        safe = escaping.markup(text)
        root = ET.fromstring(f"<p a='{safe}' b=\"{safe}\">{safe}</p>")
        assert len(root) == 0
        assert root.text in (None, escaping.prose(text)) or root.text == escaping.prose(text)
        assert set(root.attrib) == {"a", "b"}
        assert not unsafe(safe, "\n\t")


def test_json_says_the_same_and_ends_no_script() -> None:
    for text in MANY:
        document = json.dumps({"a": text}, ensure_ascii=False)
        for safe in (escaping.json_text(document), escaping.script(document)):
            assert not unsafe(safe, "\n")
            assert json.loads(safe) == {"a": text}
        assert not set("<>&") & set(escaping.script(document))
        assert json.loads(dump({"a": text})) == {"a": text}


def test_toml_says_the_same() -> None:
    for text in MANY:
        if not any("\ud800" <= c <= "\udfff" for c in text):
            safe = escaping.toml_text(text)
            assert not unsafe(safe)
            assert tomllib.loads(f"{safe} = {safe}") == {text: text}


def test_no_cell_of_a_csv_file_is_a_formula_and_each_is_found_again() -> None:
    safe = [escaping.formula(text) for text in MANY]
    assert not any(text[:1] in "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20" for text in safe if text)
    assert len(set(safe)) == len(set(MANY))
    good = [text for text in MANY if not any("\ud800" <= c <= "\udfff" for c in text)]
    (column,) = without_formulas(pa.table({"=a": good})).columns
    assert column.to_pylist() == [escaping.formula(text) for text in good], "RE2 and Python agree"
    assert without_formulas(pa.table({"n": [-1, 2]})).to_pydict() == {"n": [-1, 2]}


def release(keys: list[str], name: str = "n") -> Release:
    """An answer that shows these keys."""
    data = pa.table({"k": keys})
    session = shared.protect(data, privacy_unit="row", keys={"k": keys}, budget=100)
    alias = name.replace('"', '""')
    return session.sql(f'SELECT k, COUNT(*) AS "{alias}" FROM data GROUP BY k', 1)


@pytest.fixture(scope="module")
def shown() -> Release:
    return release(sorted({text for text in ALL if "\x00" not in text}))


def test_an_answer_prints_one_line_for_each_row(shown: Release) -> None:
    import dataclasses

    few = dataclasses.replace(shown, values=shown.values.slice(0, 30))
    lines = repr(few).split("\n")
    assert len(lines) == 2 + 30 + 1
    assert not any(unsafe(line) for line in lines)


def test_an_answer_in_a_notebook_is_a_table_and_nothing_else(shown: Release) -> None:
    tags = set()

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.add(tag)
            assert {name for name, _ in attrs} <= {"style"}

    page = shown._repr_html_()
    Reader().feed(page)
    assert tags <= {"table", "thead", "tbody", "tr", "th", "td", "small", "br"}
    assert not unsafe(page)


def test_what_the_command_line_prints(shown: Release, capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["a\x1b[2J"], [[text] for text in ALL], [False])
    printed = capsys.readouterr().out
    assert not unsafe(printed, "\n")
    assert printed.count("\n") == len(ALL) + 2
    print_csv(shown)
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out, newline="")))
    assert len(rows) == len(shown) + 1
    assert not any(row[0][:1] in set("=+-@\t\r\n") for row in rows if row[0])
    for text in ALL:
        for _, said in words(QueryRefused(text, text)):
            assert not unsafe(said, "\n\t")
        error = QueryRefused(text, text, picture=text)
        assert not unsafe(f"{error}{error.cause}{error.fix}{error.picture}", "\n\t")


def test_a_refusal_in_a_notebook_is_short_and_safe() -> None:
    error = QueryRefused("There is no column x.", "Write y.", picture="  SELECT \x1b[2J x\n          ^")
    error.add_note("Nothing was charged.")
    assert error._render_traceback_() == [
        "QueryRefused: There is no column x.", "  SELECT \\x1b[2J x", "          ^", "Write y.", "Nothing was charged."
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["svg", "png", "html", "json"])
def test_a_picture_of_any_text_is_drawn(kind: str, tmp_path: Path) -> None:
    from discreet.plots import save

    odd = ["".join(CONTROLS[1:]), *BIDI[:2], "".join(BIDI), "".join(UNSEEN), "".join(BREAKS)]
    some = [text for text in dict.fromkeys([*odd, *WHOLE]) if "\x00" not in text][:40]
    picture = release(some, "n\x1b\\x1b</script>").plot(title="\x07\u202e</script>")
    data = save(picture, tmp_path / f"x.{kind}").read_bytes()
    if kind == "png":
        assert data[:4] == b"\x89PNG"
        return
    text = data.decode()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert kind == "json" or "<img src=x" not in text
    if kind == "svg":
        ET.fromstring(text)
    if kind == "html":
        assert text.lower().count("</script") == text.lower().count("<script"), "no text ends a script"


def test_nul_is_drawn_too(tmp_path: Path) -> None:
    """It aborted the process."""
    from discreet.plots import save
    from discreet.plots.theme import COLOURS, altair, data, finish, size_of

    chart = (
        altair()
        .Chart(data([{"a": "x\x00\x01y", "n": 1}]))
        .mark_bar(color=COLOURS[0])
        .encode(x="n:Q", y="a:N")
    )
    assert save(finish(chart, "\x00", size_of("column"), "\x1b"), tmp_path / "x.png").stat().st_size


def test_the_fault_in_pictures_is_that_of_what_draws() -> None:
    """Planted: a title that Vega reads as an escape."""
    import vl_convert

    from discreet.plots.theme import altair

    alt = altair()
    chart = alt.Chart(alt.Data(values=[{"a": "x", "n": 1}])).mark_bar()
    for title, fails in (("n\\x1b", True), (escaping.picture("n\\x1b"), False)):
        spec = chart.encode(x=alt.X("n:Q", title=title), y="a:N").to_dict()
        if fails:
            with pytest.raises(ValueError, match="non-XML"):
                vl_convert.vegalite_to_png(spec)
        else:
            assert vl_convert.vegalite_to_png(spec)


@pytest.mark.parametrize("sink", ["cell", "markup", "script", "formula"])
def test_a_sink_that_shows_text_raw_is_caught(sink: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(escaping, sink, lambda text: text)
    check = {
        "cell": test_a_cell_is_one_line_without_anything_odd_and_no_two_texts_look_alike,
        "markup": test_markup_is_text_in_html_and_in_xml,
        "script": test_json_says_the_same_and_ends_no_script,
        "formula": test_no_cell_of_a_csv_file_is_a_formula_and_each_is_found_again,
    }[sink]
    with pytest.raises((AssertionError, ET.ParseError)):
        check()
