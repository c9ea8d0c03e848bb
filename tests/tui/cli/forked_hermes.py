"""Runs `hermes` in a fork of this process, which has imported what a command needs: half of a start is imports.

The socket of its argument takes the JSON of a run with its three standard files; it gives back the process's id, and how
it ended.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

LONGEST = 4_000_000  # of an environment with its arguments
HEAVY = ("openai", "httpx", "yaml", "ruamel.yaml", "agent.open", "agent.hub", "agent.profiles", "agent.providers.chat")


def preload() -> None:
    commands = Path(__file__).parents[3] / "tui" / "cli"
    names = [".".join(path.relative_to(commands.parents[1]).with_suffix("").parts) for path in commands.rglob("*.py")]
    for name in (*HEAVY, *names):
        if not name.endswith(("__main__", "_page")):
            with suppress(ModuleNotFoundError):
                importlib.import_module(name)
    gc.collect()
    gc.freeze()


def become_hermes(run: dict[str, Any], files: list[int]) -> None:
    """What a start of the command does behind the imports."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, 64)
    os.chdir(run["cwd"])
    os.environ.clear()
    os.environ.update(run["environ"])
    time.tzset()
    sys.stdout.reconfigure(line_buffering=os.isatty(1))
    sys.argv = ["hermes", *run["arguments"]]
    from tui.cli.main import main

    code = main()
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code)  # taking the imported modules apart would copy most of the process


def serve_run(connection: socket.socket) -> None:
    data, files, _, _ = socket.recv_fds(connection, LONGEST, 3)
    while not data.endswith(b"\n"):
        data += connection.recv(LONGEST)
    pid = os.fork()
    if pid == 0:
        return become_hermes(json.loads(data), files)
    for file in files:
        os.close(file)
    connection.sendall(b"%d\n" % pid)
    connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    os._exit(0)


def main() -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(sys.argv[1])
    listening.listen()
    preload()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    while True:
        connection, _ = listening.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            listening.close()
            return serve_run(connection)
        connection.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


main()
