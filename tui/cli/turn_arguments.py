"""The command lines of `hermes tui` and `hermes chat`, read into options."""

from __future__ import annotations

import argparse

from agent.approvals.shell_verdict import Mode
from tui.cli.argument_types import given_text, positive, seconds, session_name, setting
from tui.cli.options import ChatOptions, TuiOptions


def add_tui(tui: argparse.ArgumentParser) -> None:
    """The options of the screen."""
    which = tui.add_mutually_exclusive_group()
    said = "open the session last worked in, here if there is one"
    which.add_argument("-c", "--continue", action="store_true", dest="go_on", help=said)
    which.add_argument("-r", "--resume", type=session_name, metavar="SESSION", help="open this one, by id or title")
    _add_common(tui)


def add_chat(chat: argparse.ArgumentParser) -> None:
    """The options of one turn without a screen."""
    chat.epilog = (
        "The exit code is 0 for an answer that is whole and stored, 1 for a failure or half an answer, 2 for a mistake in "
        "the command line, 130 after Ctrl+C and 143 after SIGTERM."
    )
    chat.add_argument("-q", "--query", required=True, metavar="TEXT", help="the prompt; - reads it from standard input")
    chat.add_argument("--stdin", action="store_true", help="put what standard input holds behind the prompt")
    said = "send this PNG, JPEG, GIF or WebP file along; can be given more than once"
    chat.add_argument("--image", type=given_text, action="append", default=[], metavar="FILE", help=said)
    chat.add_argument("--session", type=session_name, metavar="SESSION", help="go on with this one, by id or title")
    form = chat.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object instead of the answer")
    form.add_argument("--stream-json", action="store_true", help="print a line of JSON for each event as it happens")
    chat.add_argument("--quiet", action="store_true", help="nothing but the answer and errors")
    chat.add_argument("--max-turns", type=positive, metavar="N", help="at most so many requests to the model")
    chat.add_argument("--max-tokens", type=positive, metavar="N", help="no answer is longer than so many tokens")
    said = "stop the turn when it takes longer; the exit code is 1 then"
    chat.add_argument("--timeout", type=seconds, metavar="SECONDS", help=said)
    chat.add_argument("--trust", action="store_true", help="let this folder's own files act, in this run only")
    _add_common(chat)


def tui_options(given: argparse.Namespace) -> TuiOptions:
    return TuiOptions(
        go_on=given.go_on,
        resume=given.resume or "",
        model=given.model,
        cwd=given.cwd,
        flags=dict(given.set),
        mode=given.mode,
        personality=given.personality,
    )


def chat_options(given: argparse.Namespace) -> ChatOptions:
    limits = {"agent.max_turns": given.max_turns, "agent.max_tokens": given.max_tokens}
    return ChatOptions(
        prompt=given.query,
        has_stdin=given.stdin,
        images=tuple(given.image),
        model=given.model,
        cwd=given.cwd,
        session=given.session or "",
        as_json=given.json,
        as_events=given.stream_json,
        quiet=given.quiet,
        timeout_s=given.timeout,
        is_trusting=given.trust,
        flags=dict(given.set) | {key: str(value) for key, value in limits.items() if value is not None},
        mode=given.mode,
        personality=given.personality,
    )


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", default="", metavar="MODEL", help="provider:model, a provider, or demo")
    parser.add_argument("--personality", default="", metavar="NAME", help="how the model speaks; none for as usual")
    parser.add_argument("--cwd", default="", metavar="FOLDER", help="the folder to work in (this one)")
    how = parser.add_mutually_exclusive_group()
    said = "how much the session asks from now on: %(choices)s (ask in a new one)"
    how.add_argument("--mode", choices=[mode.value for mode in Mode], default="", metavar="MODE", help=said)
    how.add_argument("--yolo", action="store_const", const=Mode.YOLO.value, dest="mode", help="the same as --mode yolo")
    said = "a setting for this run only, such as agent.max_turns=5"
    parser.add_argument("--set", type=setting, action="append", default=[], metavar="KEY=VALUE", help=said)
