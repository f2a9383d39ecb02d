"""Local randomisers: each person randomises the own value, and shares are estimated from the reports."""
