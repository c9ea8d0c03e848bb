"""`hermes prompt`: what a model would be told, without asking one."""

from __future__ import annotations

import json


def test_the_parts_are_told_with_their_sizes_and_add_up_to_the_text(hermes) -> None:
    (hermes.home / "SOUL.md").write_text("I am Otto. Grüße.")
    (hermes.cwd / "AGENTS.md").write_text("Use tabs.")
    untrusted = hermes.run("prompt", "size")
    assert b"AGENTS.md of this folder was not read" in untrusted.stderr and b"project rules" not in untrusted.stdout
    assert hermes.run("trust", "add", "--yes").returncode == 0
    record = json.loads(hermes.run("prompt", "show", "--json", "--personality", "Bard").stdout)
    assert [(part["name"], part["tier"]) for part in record["parts"]] == [
        ("identity", "stable"),
        ("steering", "stable"),
        ("project rules", "context"),
        ("environment", "volatile"),
        ("personality", "overlay"),
    ]
    text = "\n\n".join(part["text"] for part in record["parts"])
    assert record["size_bytes"] == len(text.encode()) and "I am Otto. Grüße." in text and "Use tabs." in text
    assert all(part["tokens"] > 0 for part in record["parts"]) and record["notices"] == []
    shown = hermes.run("prompt", "show", "--personality", "bard")
    assert shown.stdout.decode() == f"{text}\n"


def test_that_of_a_stored_session_is_the_one_its_next_turn_has(hermes) -> None:
    assert hermes.run("chat", "-q", "help", "--model", "demo").returncode == 0
    [(id_, kept)] = hermes.query("SELECT s.id, p.text FROM sessions s JOIN prompts p ON p.hash = s.prompt_hash")
    shown = hermes.run("prompt", "show", "--session", id_[:12])
    assert (shown.returncode, shown.stdout.decode()) == (0, f"{kept}\n")
    assert hermes.run("prompt", "show", "--session", "nothing like it").returncode == 1


def test_an_unknown_personality_is_one_sentence(hermes) -> None:
    done = hermes.run("prompt", "size", "--personality", "piratt", "--json")
    assert done.returncode == 1 and "There is no personality piratt" in json.loads(done.stdout)["error"]
