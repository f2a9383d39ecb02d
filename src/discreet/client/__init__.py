"""A session on a server: questions and answers over HTTP, with the errors of `discreet.errors`."""

from discreet.client.session import RemoteSession, connect

__all__ = ["RemoteSession", "connect"]
