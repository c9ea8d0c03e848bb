"""The command line of `hermes prompt`."""

from __future__ import annotations

import argparse

from tui.cli.argument_types import session_name


def add_prompt(parser: argparse.ArgumentParser) -> None:
    """The command line of it."""
    parser.add_argument("verb", choices=("show", "size"), help="the text itself, or how much each part of it takes")
    said = "that of this session, by id or title; without it, that of a new one"
    parser.add_argument("--session", type=session_name, metavar="SESSION", help=said)
    parser.add_argument("--personality", default="", metavar="NAME", help="with this personality laid over it")
    parser.add_argument("--cwd", default="", metavar="FOLDER", help="the folder of a new session (this one)")
    parser.add_argument("--json", action="store_true", help="as one JSON object")
