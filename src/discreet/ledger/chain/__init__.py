"""The chain: entries sealed by hashes, the book of totals after each, and the walk that checks both."""
