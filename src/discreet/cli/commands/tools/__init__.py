"""Commands for other tools: assistants, a shell, and the card for registries."""
