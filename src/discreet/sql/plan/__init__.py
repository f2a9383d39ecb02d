"""The plan of a question: strategies, shares of epsilon, and the choice of mechanism."""
