"""System prompts, each kept once however many sessions use it."""

from __future__ import annotations

from hashlib import sha256

from session.connection import Connection


class Prompts:
    """Texts by the hash of what they say."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, text: str) -> str:
        """Keep a text; its hash. One that is there already costs a look-up."""
        text_hash = prompt_hash(text)
        self._connection.run("INSERT INTO prompts (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING", text_hash, text)
        return text_hash

    def get(self, text_hash: str) -> str:
        """The text of a hash, "" where there is none."""
        found = self._connection.value("SELECT text FROM prompts WHERE hash = ?", text_hash)
        return found if isinstance(found, str) else ""


def prompt_hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
