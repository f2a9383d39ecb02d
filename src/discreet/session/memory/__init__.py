"""Questions that follow from earlier answers, or cost less beside them."""
