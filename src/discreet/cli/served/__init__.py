"""Commands about the data set of a server, but for its questions."""
