"""Sandboxes in processes of their own, whose memory, time, files and network the operating system bounds."""
