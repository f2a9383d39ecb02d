"""An event that is written is read back as the same event, and nothing else is read."""

from __future__ import annotations

import json

import pytest

from discreet.accounting import events as ev
from discreet.accounting.event_text import KINDS, read, written
from discreet.accounting.loss import Loss
from discreet.accounting.pricing import loss_of
from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter

ONE = ev.Released(Loss("1/3", "1e-9"), neighbours="add_remove")
NOISE = ev.LaplaceNoise("40/3", 2, neighbours="add_remove")
FIXED = ev.LaplaceNoise(20, "1/2", None, neighbours="replace_one")
EVENTS = [
    ONE,
    NOISE,
    FIXED,
    ev.Concentrated(ZCDP("1/8", "1e-7"), neighbours="add_remove"),
    ev.Converted(ev.Concentrated("1/50", neighbours="add_remove"), Loss(1, "1e-6")),
    ev.GaussianNoise(10, 3, discrete=True, neighbours="replace_one"),
    ev.DiscreteGaussianNoise("1801/2", 50, neighbours="add_remove"),
    ev.GaussianPrivate("1/25", 12, neighbours="replace_one"),
    ev.Sampled(NOISE, "1/20", "poisson"),
    ev.Sampled(FIXED, "1/20", "fixed_size"),
    ev.Repeated(NOISE, 7),
    ev.Composed([ONE, NOISE, ev.Repeated(ONE, 2)]),
    ev.Parallel([FIXED, FIXED], public_parts=True),
    ev.Parallel([ONE, NOISE]),
    ev.Alternatives([ONE, NOISE]),
    ev.Grouped(NOISE, 5),
    ev.ReplaceOne(NOISE),
]


def test_each_kind_of_event_has_a_spelling() -> None:
    assert {type(event) for event in EVENTS} == set(KINDS.values()) == set(_all(ev.Event))


def _all(kind: type[ev.Event]) -> list[type[ev.Event]]:
    return [one for sub in kind.__subclasses__() for one in (sub, *_all(sub))]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_what_is_written_is_read_back(event: ev.Event) -> None:
    text = written(event)
    again = read.__wrapped__(text)
    assert again == event
    assert type(again) is type(event)
    assert again.neighbours == event.neighbours
    assert written.__wrapped__(again) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"kind":"Event","neighbours":"add_remove"}',
        '{"kind":"Released","loss":["1","0"]}',
        '{"kind":"Released","loss":["1","0"],"neighbours":"both"}',
        '{"kind":"Released","loss":["-1","0"],"neighbours":"add_remove"}',
        '{"kind":"Released","loss":["2/2","0"],"neighbours":"add_remove"}',  # a second spelling of 1
        '{"kind": "Released","loss":["1","0"],"neighbours":"add_remove"}',
        '{"kind":"Composed","events":[],"neighbours":"add_remove"}',
        '{"kind":"Composed","events":' * 10_000,
        '{"event":' * 10_000 + "1" + "}" * 10_000,
        written(ev.ReplaceOne(NOISE)).replace("replace_one", "add_remove"),
        written(NOISE).replace('"1"', "NaN"),
        written(NOISE).replace("}", ',"more":1}'),
    ],
    ids=range(16),
)
def test_nothing_else_is_read(text: str) -> None:
    with pytest.raises(InvalidParameter, match="not the text of an event"):
        read(text)


def test_a_spelling_never_changes() -> None:
    # Ledgers hold it. A new kind of event may be added; what is here stays.
    assert written(ev.Composed([ONE, ev.Alternatives([NOISE])])) == json.dumps(
        {
            "events": [
                {"kind": "Released", "loss": ["1/3", "1/1000000000"], "neighbours": "add_remove"},
                {
                    "events": [
                        {
                            "grid": "1",
                            "kind": "LaplaceNoise",
                            "neighbours": "add_remove",
                            "scale": "40/3",
                            "sensitivity": "2",
                        }
                    ],
                    "kind": "Alternatives",
                    "neighbours": "add_remove",
                },
            ],
            "kind": "Composed",
            "neighbours": "add_remove",
        },
        separators=(",", ":"),
    )


def test_alternatives_cost_as_much_as_the_dearest_in_epsilon_and_in_delta() -> None:
    dear = ev.LaplaceNoise(1, 2, neighbours="add_remove")
    assert loss_of(ev.Alternatives([ONE, dear, NOISE])) == Loss(2, "1e-9")
