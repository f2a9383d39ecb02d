"""Processes of Python that begin with our modules loaded: forks of one process that has loaded them.

Python, its libraries and our modules take a second of processor time at each start, and most commands much less. The
commands and the code of a page run in forks, with the arguments, the environment, the folder and the three standard
streams of who asked. What happens while Python itself starts is asked of real processes, in tests/cli/test_process.py
and tests/cli/terminal/test_standard_streams.py. Pictures are drawn by one process for all forks, as the first picture
of a process takes half a second and each after it next to nothing. Signals reach the fork, and it is killed with the
program that asked for it.

    with the folder of `programs()` first in PATH, `discreet …`, `python FILE` and `python -` run so
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import gc
import importlib
import os
import pickle
import pkgutil
import re
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, TextIO

from tests.scripts_of_pages import PLACE, make_once

CLIENT = r"""#!{python} -IS
import _signal, _socket, os, sys  # the modules around them take as long to load as Python itself
name, args = os.path.basename(sys.argv[0]), sys.argv[1:]
def cold():
    os.execv({python!r}, [{python!r}, *(["-m", "discreet"] if name == "discreet" else []), *args])
if name != "discreet" and args[:1] != ["-"] and (not args or args[0].startswith("-")):
    cold()
server = _socket.socket(_socket.AF_UNIX)
try:
    server.connect({address!r})
except OSError:  # somebody ended it
    cold()
def said():
    line = b""
    while (more := server.recv(1)) not in (b"", b"\n"):
        line += more
    return int(line or b"1")
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
asked = repr((name, args, dict(os.environ), os.getcwd())).encode()
sent = server.sendmsg([asked], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
server.sendall(asked[sent:])
server.shutdown(_socket.SHUT_WR)
program = said()
for told in (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM):
    _signal.signal(told, lambda number, frame: os.kill(program, number))
sys.exit(said())
"""
LOADED = (
    "altair", "duckdb", "numpy", "pyarrow.parquet", "vl_convert",
    # A server that is killed tells nothing of what it has loaded.
    "discreet.engines.isolated.workers", "discreet.server.app", "discreet.server.running.several", "psycopg",
    "uvicorn.main",
)  # fmt: skip
LATER = (
    "discreet.mcp.tools", "h3", "mcp", "networkx", "numpy.random", "pandas", "pyproj", "scipy.sparse.csgraph",
    "scipy.special", "scipy.stats", "sklearn.linear_model",
)  # fmt: skip
"""What few need: a process tells at its end what it has loaded of these, and those after it begin with them."""
ROOMS = ("cli", "plots", "release", "session", "spatial", "sql", "streams")


PROGRAMS = "DISCREET_TEST_PROGRAMS"
"""The variable that names the folder of the programs where one warm process serves all processes of a run."""


@cache
def programs() -> Path:
    """A folder with the programs `discreet`, `python` and `python3`, whose processes begin warm."""
    folder = Path(os.environ[PROGRAMS]) if PROGRAMS in os.environ else _begun()
    until = time.monotonic() + 120
    while not (folder / "ready").exists():
        assert time.monotonic() < until, "the warm process did not begin"
        time.sleep(0.02)
    return folder


def share() -> None:
    """Let one warm process serve the processes that this one starts; it loads its modules meanwhile."""
    os.environ[PROGRAMS] = str(_begun())


def _begun() -> Path:
    """Begin a warm process, which lives as long as this one."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-warm-"))
    address = str(folder / "socket")
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.warm", address], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONUTF8": "1", "OPENBLAS_NUM_THREADS": "1"}, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    assert server.stdin is not None
    owner, stdin = os.getpid(), server.stdin

    def end() -> None:
        if os.getpid() == owner:
            stdin.close()
            server.wait()
            shutil.rmtree(folder)

    atexit.register(end)
    for name in ("discreet", "python", "python3"):
        (folder / name).write_text(CLIENT.format(python=sys.executable, address=address))
        (folder / name).chmod(0o755)
    return folder


def serve(address: str) -> None:
    """Load the modules, then fork for each who asks, until the standard input ends."""
    for name in LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for room in ROOMS:
        package = importlib.import_module(f"discreet.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"discreet.{room}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    told, _told["pipe"] = os.pipe()
    _draw_elsewhere(f"{address}-pictures")
    assert threading.active_count() == 1, "threads are lost in a fork"
    gc.collect()
    gc.freeze()  # else each fork copies what its garbage collector walks over
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    running: dict[int, socket.socket] = {}
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        Path(address).with_name("ready").touch()
        while True:
            poll = select.poll()
            for file in (0, told, listening, woken):
                poll.register(file, select.POLLIN)
            for asking in running.values() if sys.platform == "linux" else ():
                poll.register(asking, 0)  # elsewhere it hangs up once it has asked
            ready = dict(poll.poll())
            if 0 in ready:
                return
            if told in ready:
                _load(os.read(told, 1 << 16).decode().split())
            if woken.fileno() in ready:
                woken.recv(1 << 10)
            for pid, asking in running.items():
                if asking.fileno() in ready:
                    os.kill(pid, signal.SIGKILL)
            _tell_ends(running)
            if listening.fileno() in ready:
                _take(listening, running, (woken, wake))


def _draw_elsewhere(address: str) -> None:
    """Fork a process that draws pictures until the standard input ends, and let this one and its forks ask it."""
    if importlib.util.find_spec("vl_convert") is None:
        return
    import vl_convert

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        if os.fork() == 0:
            _draw(listening, vl_convert)
    for name in ("vegalite_to_png", "vegalite_to_svg"):
        setattr(vl_convert, name, _drawn(address, name, getattr(vl_convert, name)))


def _draw(listening: socket.socket, renderer: Any) -> NoReturn:
    while listening.fileno() in select.select([listening.fileno(), 0], [], [])[0]:
        asking, _ = listening.accept()
        with asking, asking.makefile("rwb") as file:
            name, args, given = pickle.load(file)
            try:
                picture = getattr(renderer, name)(*args, **given)
                pickle.dump((_numbered(picture) if isinstance(picture, str) else picture, None), file)
            except Exception as error:
                pickle.dump((None, ValueError(str(error))), file)
    os._exit(0)


def _numbered(picture: str) -> str:
    """Number the parts of a picture as in the first one of a process: they are counted through all of them."""
    least = min(map(int, re.findall(r'id="clip(\d+)"', picture)), default=0)
    return re.sub(r"\bclip(\d+)\b", lambda found: f"clip{int(found[1]) - least + 1}", picture)


def _drawn(address: str, name: str, here: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the renderer that asks the process that draws, and draws here where that has gone."""

    def draw(*args: Any, **given: Any) -> Any:
        try:
            with socket.socket(socket.AF_UNIX) as asking:
                asking.connect(address)
                with asking.makefile("rwb") as file:
                    pickle.dump((name, args, given), file)
                    file.flush()
                    picture, error = pickle.load(file)
        except (OSError, EOFError):
            return here(*args, **given)
        if error is not None:
            raise error
        return picture

    return draw


_told: dict[str, int] = {}
"""The end of the pipe on which forks tell which modules they have loaded."""


def _load(names: list[str]) -> None:
    for name in names:
        importlib.import_module(name)
    assert threading.active_count() == 1, "threads are lost in a fork"
    gc.freeze()


def _take(
    listening: socket.socket, running: dict[int, socket.socket], own: tuple[socket.socket, ...]
) -> None:
    """Run what is asked in a fork of this process, which has none of our sockets, and tell who asked its number."""
    asking, _ = listening.accept()
    said, files, _, _ = socket.recv_fds(asking, 1 << 20, 3)
    while part := asking.recv(1 << 20):
        said += part
    if len(files) < 3:
        asking.close()  # who asked has ended, or has no streams
        return
    name, args, env, folder = ast.literal_eval(said.decode())
    if (pid := os.fork()) == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for other in (listening, asking, *own, *running.values()):
            other.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(env)
        _begin(name, args)
    for file in files:
        os.close(file)
    running[pid] = asking
    with contextlib.suppress(OSError):  # who asked was killed, which is seen next
        asking.sendall(b"%d\n" % pid)


def _tell_ends(running: dict[int, socket.socket]) -> None:
    """Tell who asked how their programs have ended."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            code = os.waitstatus_to_exitcode(ended[1])
            if ended[0] in running:
                with running.pop(ended[0]) as asking, contextlib.suppress(OSError):
                    asking.sendall(b"%d\n" % (code if code >= 0 else 128 - code))


def _begin(name: str, args: list[str]) -> NoReturn:
    """The rest of the life of a process that was asked for."""
    sys.path[1:1] = [
        one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one not in sys.path[1:]
    ]
    if PLACE in os.environ:
        make_once(Path(os.environ[PLACE]))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = [name, *args] if name == "discreet" else args
    code, before = 0, {*sys.modules}
    try:
        _program(name, args)()
    except SystemExit as end:
        code = _status(end, sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    if found := [one for one in LATER if one in sys.modules and one not in before]:
        os.write(_told["pipe"], f"{' '.join(found)} ".encode())
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _status(end: SystemExit, stderr: TextIO) -> int:
    if isinstance(end.code, str):
        print(end.code, file=stderr)
        return 1
    return end.code or 0


def _program(name: str, args: list[str]) -> Callable[[], object]:
    if name == "discreet":
        from discreet.cli import main

        return main
    if args[0] == "-":
        sys.path[0] = ""
        source = compile(sys.stdin.read(), "<stdin>", "exec")
        return lambda: exec(source, vars(sys.modules["__main__"]))
    sys.path[0] = str(Path(args[0]).resolve().parent)
    return lambda: runpy.run_path(args[0], run_name="__main__")


if __name__ == "__main__":
    serve(sys.argv[1])
