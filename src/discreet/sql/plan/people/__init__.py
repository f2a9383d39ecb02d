"""Questions to people who allow different epsilons."""
