"""What a person sees of answers that are odd or broken, byte for byte as servers were caught sending them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

RESET = "reset"


@pytest.fixture
def ask(desk: Any, terminal: Callable[..., Any], wire: Any) -> Callable[..., Any]:
    """Open the screen on the wire and send one prompt; `retries` is how often a broken answer is asked for again."""

    def asked(prompt: str = "hello", retries: int = 0) -> Any:
        desk.serve_model(wire.base_url, agent={"stream_retries": retries})
        term = terminal(cols=110)
        term.wait_for("Ask for anything")
        term.send(prompt)
        return term

    return asked


def test_A01_usage_beside_empty_choices_is_the_figure_in_the_status_row(ask: Any, wire: Any) -> None:
    wire.say("Hi")
    term = ask()
    term.wait_for("60/100k")
    assert "~" not in term.lines()[-1] and "Hi" in term.screen()


def test_A15_a_stream_that_just_ends_is_shown_as_cut_off_and_the_next_turn_works(ask: Any, wire: Any) -> None:
    wire.stream(wire.chunk({"content": "Half an ans"}))
    wire.say("Here I am again.")
    term = ask()
    screen = term.wait_for("failed")
    assert "Half an ans" in screen and "Cut off:" in screen
    term.send("and now")
    assert "Half an ans" in term.wait_for("Here I am again.")


def test_A21_text_before_an_error_stays_marked_failed_beside_the_servers_words(ask: Any, wire: Any) -> None:
    error = {"message": "upstream 502", "code": "server_error"}
    wire.stream(wire.chunk({"content": "Let me"}), wire.chunk(None, error=error))
    wire.say("Here I am again.")
    term = ask()
    for said in ("✗ failed", "Let me", "Failed: the server reported", "upstream 502"):  # painted one after another
        term.wait_for(said)
    term.send("and now")
    term.wait_for("Here I am again.")


def test_A34_a_reset_answer_is_asked_for_again_counted_on_the_screen_and_replaced(ask: Any, wire: Any) -> None:
    wire.stream(wire.chunk({"content": "part"}), 0.2, RESET)
    wire.stream(wire.chunk({"content": "part"}), 0.2, RESET)
    wire.say("The whole.")
    term = ask(retries=2)
    term.wait_for("(2 of 3)")
    term.wait_for("(3 of 3)")
    term.wait_for("The whole.")
    screen = term.wait_for("idle")
    assert "part" not in screen and "of 3" not in screen


def test_A34_when_the_attempts_are_used_up_the_part_stays_and_is_marked_cut(ask: Any, wire: Any, desk: Any) -> None:
    wire.stream(wire.chunk({"content": "part"}), 0.1, RESET)
    term = ask(retries=1)
    term.wait_for("(2 of 2)")
    term.wait_for("✗ failed")
    assert "part" in term.wait_for("Cut off:")
    assert desk.query("SELECT content, finish FROM messages WHERE role = 'assistant'") == [("part", "cut")]


@pytest.mark.parametrize(
    ("status", "body", "kind", "told"),
    [
        ("401 Unauthorized", '{"error": {"message": "wrong key"}}', "application/json", "refused the API key (401)"),
        ("404 Not Found", '{"error": {"message": "no peer-model"}}', "application/json", "not offer the model peer-model"),
        ("200 OK", "<html><h1>[/] Sign in</h1></html>", "text/html", "is not a Chat Completions server"),
        ("403 Forbidden", "<html><h1>[/] No</h1></html>", "text/html", "(403)"),
    ],
)  # fmt: skip
def test_a_refusal_is_one_sentence_keeps_the_prompt_and_the_next_turn_works(
    ask: Any, wire: Any, desk: Any, status: str, body: str, kind: str, told: str
) -> None:
    wire.refuse(status, body, kind)
    wire.say("Here I am again.")
    term = ask()
    term.wait_for("✗ failed")
    screen = term.wait_for("Error:")
    assert told in " ".join(screen.split()) and screen.count("Error:") == 1 and "<h1>" not in screen
    assert desk.query("SELECT content FROM messages WHERE role = 'user'") == [("hello",)]
    term.send("and now")
    term.wait_for("Here I am again.")
    term.wait_for("60/100k")


ACTING = "\x1b[2J\x1b[H", "\x1b]0;owned\x07", "\x1b]52;c;aGk=\x07", "\x1b[?1049l", "\x9b2J"


def test_C17_escape_codes_in_a_command_are_shown_and_never_reach_the_terminal(ask: Any, wire: Any) -> None:
    wire.call(f"touch P #{''.join(ACTING)}ls -la")
    term = ask()
    screen = term.wait_for("enter decides")
    assert r"\x1b[2J" in screen and r"\x1b]52;c;aGk=\x07" in screen and "ls -la" in screen
    assert not [one for one in ACTING if one in term.written()]


def test_D06_escape_codes_in_output_and_answers_never_reach_the_terminal(ask: Any, wire: Any) -> None:
    octal = "".join(f"\\{ord(letter):03o}" for letter in f"\x1b[31mred\x1b[0m {''.join(ACTING[:4])} a\0b end\x1b")
    wire.call(f"touch made.txt; printf '{octal}'")
    wire.say(f"said {''.join(ACTING)} all")
    term = ask()
    term.answer("printf", "1")
    screen = term.wait_for("idle")
    assert "red" in screen and "end" in screen and "said" in screen and " all" in screen
    assert not [one for one in ACTING if one in term.written()]
