from __future__ import annotations

import pyarrow as pa

import discreet as dp
from discreet.dbapi.words import Words, quoted


def test_tables_columns_functions_and_settings_complete_a_question() -> None:
    with dp.protect(pa.table({"age": [1], "Time spent": [2]}), privacy_unit="row", budget=1) as session:
        words = Words.of(session)
    first = {
        begun: [word for word, _, _ in words.after(begun)]
        for begun in ("a", "da", "Tim", "med", "SELECT av", "discreet.e", " ")
    }
    assert "age" in first["a"]
    assert "data" in first["da"]
    assert '"Time spent"' in first["Tim"]
    assert any(word.upper().startswith("MEDIAN") for word in first["med"])
    assert any(word.upper().startswith("AVG") for word in first["SELECT av"])
    assert first["discreet.e"] == ["discreet.epsilon"]
    assert first[" "] == []


def test_names_are_written_as_sql_takes_them() -> None:
    assert [quoted(name) for name in ("age", 'a"b', "größe")] == ["age", '"a""b"', '"größe"']
