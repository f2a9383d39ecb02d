"""Where the rows of a stream come from: lines, batches of Arrow and Parquet, and message brokers."""

from discreet.streams.feeds.broker import Broker, BrokerFeed
from discreet.streams.feeds.opening import FORMATS, Feed, open_feed
from discreet.streams.feeds.text import Piece, TextFeed

__all__ = ["FORMATS", "Broker", "BrokerFeed", "Feed", "Piece", "TextFeed", "open_feed"]
