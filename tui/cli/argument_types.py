"""What an argument may be, as argparse asks for it."""

from __future__ import annotations

import argparse
import re
import time
from datetime import datetime

from agent.config.profile_name import DEFAULT, BadProfileName, check_name

MOST = 1_000_000_000  # far from what SQLite and times can take, also where two such numbers are multiplied


def positive(text: str) -> int:
    """A whole number from 1 on."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= MOST:
        raise argparse.ArgumentTypeError(f"takes a whole number from 1 to {MOST:,}")
    return number


def session_name(text: str) -> str:
    """Not "", which a script passes by an unset variable: that would begin a session where one should go on."""
    if not text.strip():
        raise argparse.ArgumentTypeError("takes the id or the title of a session")
    return text


def given_text(text: str) -> str:
    """Not "" either, for the same reason."""
    if not text.strip():
        raise argparse.ArgumentTypeError("takes a name, and was given an empty one")
    return text


def seconds(text: str) -> float:
    """More than none, at most a day."""
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number <= 86_400:
        raise argparse.ArgumentTypeError("takes seconds, more than 0 and at most 86,400")
    return number


def setting(text: str) -> tuple[str, str]:
    """A key of config.yaml and its value."""
    key, equals, value = text.partition("=")
    if not key or not equals or not value:
        raise argparse.ArgumentTypeError("takes KEY=VALUE, such as agent.max_turns=5")
    return key, value


def profile_name(text: str) -> str:
    """Not "" either: a script whose variable is unset must not work in the profile that happens to be in use."""
    try:
        return text if text == DEFAULT else check_name(given_text(text))
    except BadProfileName as error:
        raise argparse.ArgumentTypeError(str(error).rstrip(".")) from error


def since(text: str) -> float:
    """A Unix time; a time without a zone is this machine's."""
    span = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if span:
        return time.time() - int(span[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86_400}[span[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise argparse.ArgumentTypeError("takes 10m, 2h, 3d or a time such as 2026-11-29T10:00") from error
