"""The shell: questions line by line, with completion, history and the price in the prompt."""
