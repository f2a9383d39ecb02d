"""Streams: running totals over time, released period by period, under one charge for the whole horizon."""

from discreet.streams.choice import STRATEGIES, Prediction, compared, named, predictions
from discreet.streams.declaring import StreamQuestion, declared
from discreet.streams.lines import TICK, Lines
from discreet.streams.measure import Measure
from discreet.streams.periods import Periods, time_of
from discreet.streams.spec import StreamSpec
from discreet.streams.stream import Estimate, Stream, open_stream

__all__ = [
    "STRATEGIES",
    "TICK",
    "Estimate",
    "Lines",
    "Measure",
    "Periods",
    "Prediction",
    "Stream",
    "StreamQuestion",
    "StreamSpec",
    "compared",
    "declared",
    "named",
    "open_stream",
    "predictions",
    "time_of",
]
