"""Twelve questions asked of other libraries at equal privacy: their errors beside ours, and the time of each."""
