"""A server of the Model Context Protocol: assistants ask within a budget of their own, and never see a row."""
