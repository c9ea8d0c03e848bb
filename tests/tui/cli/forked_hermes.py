"""Runs `hermes` in forks of this process, which has imported what its commands need: most of a short run is imports.

Each connection to the socket, whose number is the argument, is a run: a line of JSON comes in, and the process's id and
then its exit code go out.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

COMMANDS = Path(__file__).parents[3] / "tui" / "cli"
HEAVY = ("openai", "httpx", "ruamel.yaml", "agent.open", "agent.hub", "agent.profiles", "agent.providers.chat")


def import_all() -> None:
    names = [".".join(path.relative_to(COMMANDS.parents[1]).with_suffix("").parts) for path in COMMANDS.rglob("*.py")]
    for name in (*HEAVY, *sorted(names)):
        if not name.endswith(("__", "_page")):
            with suppress(ModuleNotFoundError):
                importlib.import_module(name)
    gc.collect()
    gc.freeze()


def become_hermes(run: dict[str, Any]) -> NoReturn:
    """All that a start of the command does behind the imports."""
    writing = os.O_WRONLY | os.O_CREAT
    for number, (path, way) in enumerate([(os.devnull, os.O_RDONLY), (run["out"], writing), (run["err"], writing)]):
        file = os.open(path, way)
        os.dup2(file, number)
        os.close(file)
    os.chdir(run["cwd"])
    os.environ.clear()
    os.environ.update(run["environ"])
    time.tzset()
    sys.argv = ["hermes", *run["arguments"]]
    from tui.cli.main import main

    code = main()
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code)  # an orderly end would copy the whole process, to take its modules apart


def serve_run(connection: socket.socket) -> NoReturn:
    with connection.makefile() as asked:
        run = json.loads(asked.readline())
    pid = os.fork()
    if pid == 0:
        connection.close()
        become_hermes(run)
    connection.sendall(b"%d\n" % pid)
    connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    os._exit(0)


def main() -> None:
    import_all()
    listening = socket.socket(fileno=int(sys.argv[1]))
    while True:
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            serve_run(connection)
        connection.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


main()
