"""A real notebook kernel for tests, with what each cell showed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

WITHOUT_WIDGETS = "import sys; sys.modules['ipywidgets'] = None"


@dataclass
class Shown:
    """What a cell showed: bundles by type, its output as text, and its traceback."""

    bundles: list[dict[str, str]] = field(default_factory=list)
    streams: str = ""
    error: str = ""
    traceback: str = ""


class Kernel:
    """Runs cells."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def run(self, code: str) -> Shown:
        shown = Shown()

        def see(message: dict[str, Any]) -> None:
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                shown.streams += content["text"]
            elif kind == "error":
                shown.error, shown.traceback = content["ename"], "\n".join(content["traceback"])
            elif "data" in content:
                shown.bundles.append(content["data"])

        self._client.execute_interactive(code, output_hook=see, timeout=60)
        return shown


@contextmanager
def kernel() -> Iterator[Kernel]:
    from jupyter_client.manager import KernelManager

    manager = KernelManager()
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        yield Kernel(client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
