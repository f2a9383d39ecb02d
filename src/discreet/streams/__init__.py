"""Streams: running totals over time, released period by period, under one charge for the whole horizon."""
