"""A model whose key is missing: the screen says so, /key takes one, and the answer comes. In a real terminal."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from typing import Any

KEY, NEXT_KEY = "sk-first-0123456789abcdef", "sk-second-fedcba9876543210"
ASKS = "enter keeps it"


def configure(desk: Any, base_url: str) -> None:
    desk.configure(
        model={"default": "peer-model", "provider": "peer"},
        providers={"peer": {"base_url": base_url, "key_env": "PEER_KEY", "models": {"peer-model": {}}}},
    )


def give(term: Any, key: str) -> None:
    term.wait_for(ASKS)
    term.type(f"\x1b[200~{key}\n\x1b[201~")
    term.wait_for(f"{len(key)} characters")
    term.press("enter")
    term.wait_gone(ASKS)


def everywhere(desk: Any, term: Any) -> str:
    """All that the program wrote: to the terminal, into the store and into its log."""
    files = [path for path in desk.home.rglob("*") if path.is_file() and path.name != ".env"]
    return term.written() + "".join(path.read_bytes().decode("utf-8", "replace") for path in files)


def test_a_missing_key_is_given_on_the_screen_and_the_answer_comes(
    desk: Any, terminal: Callable[..., Any], wire: Any
) -> None:
    configure(desk, wire.base_url)
    wire.say("The peer is here.")
    term = terminal()
    term.wait_for(re.compile(r"Give\s+it\s+with\s+/key\s+PEER_KEY"))
    term.choose("Give the key PEER_KEY")
    give(term, KEY)
    term.wait_for("peer-model at peer answers here")
    term.send("are you there?")
    term.wait_for("The peer is here.")
    assert wire.keys == [KEY]

    assert desk.run("secrets", "unset", "PEER_KEY").returncode == 0
    term.send("and now?")
    term.wait_for(re.compile(r"needs\s+a\s+key.\s+Give\s+it\s+with\s+/key\s+PEER_KEY"))
    assert wire.keys == [KEY]
    term.send("/key")
    give(term, NEXT_KEY)
    term.send("and with another key?")
    term.wait_until(lambda screen: len(wire.keys) == 2 and "idle" in screen, "the second answer")
    assert wire.keys == [KEY, NEXT_KEY]
    term.send("/quit")
    assert term.wait_exit() == 0

    env = desk.home / ".env"
    assert (env.read_text(), stat.S_IMODE(env.stat().st_mode)) == (f"PEER_KEY={NEXT_KEY}\n", 0o600)
    told = everywhere(desk, term)
    assert (KEY in told, NEXT_KEY in told) == (False, False)


def test_esc_leaves_and_nothing_is_kept(desk: Any, terminal: Callable[..., Any], wire: Any) -> None:
    configure(desk, wire.base_url)
    term = terminal()
    term.choose("Give the key PEER_KEY")
    term.wait_for(ASKS)
    term.type(KEY)
    term.wait_for(f"{len(KEY)} characters")
    term.press("escape")
    term.wait_gone(ASKS)
    term.wait_for("Give the key PEER_KEY")  # the page is there again
    term.press("escape")
    term.wait_for("/setup opens this page again")
    term.send("/quit")
    assert term.wait_exit() == 0
    assert not (desk.home / ".env").exists()
    assert KEY not in everywhere(desk, term)
