from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from discreet.release.cards.card import Card

DOCUMENT = {
    "question": "SELECT '\n# x: |<b>'",
    "epsilon": "0.1",
    "none": None,
    "list": [{"a": 1, "b": [True, []]}, "x"],
    "empty": [],
}
YAML = r"""question: "SELECT '\n# x: |<b>'"
epsilon: "0.1"
none: null
list:
  - a: 1
    b:
      - true
      - []
  - "x"
empty: []
"""


def test_the_forms_of_a_record() -> None:
    card = Card.of([("Question", "SELECT\n1"), ("Made", "now")], DOCUMENT)
    assert card == "Question  SELECT\\n1\nMade      now"
    assert json.loads(card.to_json()) == card.to_dict() == DOCUMENT
    assert card.to_yaml() == YAML
    assert card.to_markdown().splitlines()[4:] == [
        r"| question | SELECT '\\n\# x: \|\<b\>' |", "| epsilon | 0.1 |", r"| list | a: 1; b: True, <br>x |",
    ]  # fmt: skip


@given(st.text(max_size=50))
def test_no_text_leaves_its_line(words: str) -> None:
    card = Card.of([], {"question": words, "notes": [words]})
    assert json.loads(card.to_json())["question"] == words
    lines = card.to_yaml().rstrip("\n").split("\n")
    assert [line[:11] for line in lines] == ['question: "', "notes:", '  - "' + lines[2][5:11]]
    assert json.loads(lines[0].removeprefix("question: ")) == words
    assert len(card.to_markdown().splitlines()) <= 6
