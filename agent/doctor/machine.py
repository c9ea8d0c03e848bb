"""The machine: Python, the locale, and the programs that tools use."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Mapping

from agent.doctor.finding import Finding, Grade
from agent.tools.shell_run import find_bash

AREA = "environment"
OLDEST_PYTHON = (3, 11)

# What is lost without a program that the model may call.
PROGRAMS = (("git", "the model can't use it", "install git"), ("rg", "searches are slower", "install ripgrep"))


def examine_machine(environ: Mapping[str, str]) -> Iterator[Finding]:
    yield _python()
    system = os.uname()
    yield Finding(AREA, Grade.OK, f"The system is {system.sysname} {system.release} ({system.machine}).")
    yield _locale(environ)
    yield _bash(environ)
    yield from (_program(environ, *program) for program in PROGRAMS)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    said = f"Python is {version}, SQLite {sqlite3.sqlite_version}."
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Finding(AREA, Grade.PROBLEM, said, "install Python 3.11 or newer")
    return Finding(AREA, Grade.OK, said)


def _locale(environ: Mapping[str, str]) -> Finding:
    name = next((name for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "")
    value = environ.get(name, "")
    if re.search(r"utf-?8", value, re.IGNORECASE):
        return Finding(AREA, Grade.OK, f"The locale is UTF-8 ({name}={value}).")
    said = f"The locale is not UTF-8 ({name}={value})." if name else "No locale is set."
    effect = "Programs that commands start may garble what is not ASCII."
    return Finding(AREA, Grade.WARNING, f"{said} {effect}", "export LANG=C.UTF-8 (on macOS: en_US.UTF-8)")


def _bash(environ: Mapping[str, str]) -> Finding:
    found = find_bash(environ)
    if found is None:
        return Finding(AREA, Grade.PROBLEM, "bash was not found, so commands can't be run.", "install bash")
    return Finding(AREA, Grade.OK, f"bash is {found}.")


def _program(environ: Mapping[str, str], name: str, lost: str, fix: str) -> Finding:
    found = shutil.which(name, path=environ.get("PATH", os.defpath))
    if found:
        return Finding(AREA, Grade.OK, f"{name} is {found}.")
    return Finding(AREA, Grade.NOTE, f"{name} was not found, so {lost}.", fix)
