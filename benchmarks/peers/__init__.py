"""The same questions asked of other libraries, each in an environment of its own: speed and error side by side."""
