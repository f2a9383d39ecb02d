"""How a service runs: the processes that listen on one port, and the protocol of their connections."""
