"""Plain times are read as Python reads them, and no other text is taken for one."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.streams.counting.iso import iso_times, micro_of
from discreet.streams.periods import time_of
from tests.depth import examples

written = st.datetimes().flatmap(
    lambda when: st.sampled_from(
        [when.isoformat(sep, part) + zone for sep in "T " for zone in ("", "Z")
         for part in ("minutes", "seconds", "milliseconds", "microseconds")] + [when.date().isoformat()]
    )
)  # fmt: skip
near = st.from_regex(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T x][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{3,6})?)?Z?)?", fullmatch=True
)


@settings(max_examples=examples(20, 120))
@given(texts=st.lists(written | near | st.none() | st.text(max_size=12), max_size=8))
def test_a_time_that_is_read_is_the_one_of_python(texts: list[str | None]) -> None:
    column = pa.array(["before", *texts], pa.string()).slice(1)
    for text, micro, known in zip(texts, *iso_times(column), strict=True):
        when = time_of(text)
        assert not known or (when is not None and micro == micro_of(when))


@given(st.lists(written, min_size=1, max_size=8))
def test_plain_layouts_are_all_read(texts: list[str]) -> None:
    assert iso_times(pa.array(texts))[1].all()


def test_the_first_and_the_last_time() -> None:
    ends = [dt.datetime.min, dt.datetime.max.replace(microsecond=999999)]
    micro, known = iso_times(pa.array([end.isoformat(timespec="microseconds") for end in ends]))
    assert known.all()
    assert micro.tolist() == [micro_of(end) for end in ends]
    assert not iso_times(pa.array([], pa.string()))[1].any()
    assert not iso_times(pa.nulls(3, pa.string()))[1].any()
