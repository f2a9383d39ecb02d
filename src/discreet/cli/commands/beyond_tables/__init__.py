"""Commands for data that is no table of people: graphs."""
