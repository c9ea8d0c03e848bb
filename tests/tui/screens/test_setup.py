"""The first minutes: a model is asked for where none can be had, and trust where a folder wants it; nobody is run over."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from textual import events

from agent import model_choice
from agent.providers.local import probe_local
from agent.providers.registry import KnownProvider
from tui.screens.key import KeyScreen
from tui.screens.model import ModelScreen
from tui.screens.setup import SetupScreen
from tui.screens.trust import TrustScreen


class Lists(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"data": [{"id": "tiny"}]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None: ...


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Settings for a server that is looked for at its own address, and answers."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), Lists)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{http.server_port}/v1"
    monkeypatch.setattr(
        model_choice, "probe_local", partial(probe_local, 10.0, [KnownProvider("ollama", "Ollama", url)])
    )
    yield f"auxiliary: {{titles: false}}\nproviders: {{ollama: {{base_url: '{url}'}}}}\n"
    http.shutdown()
    http.server_close()


def unbroken(d: Any) -> str:
    return " ".join(d.text.split())


async def page(d: Any) -> SetupScreen:
    screen = await d.asked()
    assert isinstance(screen, SetupScreen)
    return screen


def config(d: Any) -> str:
    return d.hub.profile.home.config.read_text()


async def test_a_server_on_this_machine_is_offered_and_answers_here_and_in_every_new_session(desk, script, ollama):
    script.says("Hello.")
    async with desk(asks=True, probes=True, config=ollama) as d:
        await page(d)
        assert "1  Ollama on this machine: tiny" in d.text
        await d.press("enter")
        await d.until(lambda: d.app.screen is d.main)
        await d.until(lambda: "default: tiny" in config(d))
        await d.until(lambda: "tiny at ollama answers" in unbroken(d))
        await d.send("hi")
        await d.until(lambda: "Hello." in d.text)
        assert [row.content for row in d.main.runtime.s.rows] == ["hi", "Hello."]
        await d.send("/new")
        await d.until(lambda: "tiny at ollama answers" in unbroken(d) and not d.main.runtime.s.rows)


async def test_who_leaves_it_is_told_the_way_back_and_no_prompt_reaches_nobody(desk, script):
    async with desk(asks=True) as d:
        await page(d)
        await d.press("escape")
        await d.until(lambda: d.app.screen is d.main)
        assert d.toasts == ["No model answers yet. /setup opens this page again."]
        assert "No model answers yet. /setup chooses one." in d.text
        await d.send("hello")
        await d.until(lambda: any("nothing was sent. /setup chooses one" in toast for toast in d.toasts))
        assert (d.draft, d.main.runtime.s.rows, script.requests) == ("hello", [], [])
        d.main.composer.clear()
        await d.send("/setup")
        await page(d)
        await d.press("2")
        await d.until(lambda: d.app.screen is d.main)
        await d.until(lambda: "The built-in demo answers here, as you chose." in unbroken(d))
        script.says("I am the demo.")
        await d.send("hello")
        await d.until(lambda: "I am the demo." in d.text)


async def test_a_key_is_given_from_it_and_esc_leads_back_to_it(desk):
    async with desk(asks=True) as d:
        await page(d)
        await d.press("1")
        await d.until(lambda: isinstance(d.app.screen, ModelScreen) and d.app.screen._rows.keys)
        await d.press("escape")
        await page(d)
        await d.press("1")
        await d.until(lambda: isinstance(d.app.screen, ModelScreen) and d.app.screen._rows.keys)
        d.app.screen._field.value = "groq"
        await d.until(lambda: d.app.screen._rows.marked == "server groq")
        await d.press("enter")
        await d.until(lambda: isinstance(d.app.screen, KeyScreen))


async def test_C20_a_draft_that_was_begun_is_not_run_over_and_its_enter_asks(desk, ollama, monkeypatch):
    is_looked = asyncio.Event()
    probe = model_choice.probe_local

    async def slow(*args: Any) -> Any:
        await is_looked.wait()
        return await probe(*args)

    monkeypatch.setattr(model_choice, "probe_local", slow)
    async with desk(asks=True, probes=True, config=ollama) as d:
        await d.write("hello")
        is_looked.set()
        await d.until(lambda: "No model answers yet. /setup chooses one." in d.toasts)
        assert (d.app.screen, d.draft) == (d.main, "hello")
        await d.press("enter")
        await page(d)
        assert d.draft == "hello"


async def test_C20_keys_typed_ahead_choose_nothing(desk):
    async with desk(asks=True, arm_ms=60_000) as d:
        await d.until(lambda: isinstance(d.app.screen, SetupScreen))
        await d.press("enter", "down")
        assert isinstance(d.app.screen, SetupScreen)
        await d.press("escape")  # which allows nothing
        await d.until(lambda: d.app.screen is d.main)
        assert d.main.runtime.s.route == d.hub.choice.route


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """Instructions in the folder that is worked in."""
    path = tmp_path / "work" / "AGENTS.md"
    path.parent.mkdir()
    path.write_text("Say please.")
    return path


async def test_C25_trust_is_asked_by_itself_with_not_now_marked_and_again_when_wanted(desk, rules):
    async with desk(asks=True, config="model: demo\n") as d:
        screen = await d.asked()
        assert isinstance(screen, TrustScreen)
        assert "AGENTS.md tells the model how to work" in unbroken(d)
        await d.press("enter")
        await d.until(lambda: any("/trust asks again" in toast for toast in d.toasts))
        assert not (d.hub.profile.home.root / "trust.json").exists()
        await d.send("/trust")
        await d.asked()
        await d.press("1")
        await d.until(lambda: "Trusted. It holds from the next prompt." in d.toasts)


@pytest.mark.parametrize("arm_ms", [60_000, 50])
async def test_C20_whoever_goes_on_typing_loses_nothing_to_a_question_and_decides_nothing(desk, rules, script, arm_ms):
    script.says("Hello.")
    async with desk(asks=True, config="model: demo\n", arm_ms=arm_ms) as d:
        await d.until(lambda: isinstance(d.app.screen, TrustScreen))
        if arm_ms < 1_000:
            await d.asked()
        for char in "yes 1\n":
            d.app.post_message(events.Key("enter" if char == "\n" else "space" if char == " " else char, char))
        await d.until(lambda: d.app.screen is d.main)
        await d.until(lambda: d.draft == "yes 1\n" or d.main.runtime.s.rows)  # an Enter in a burst is a line of a paste
        assert not (d.hub.profile.home.root / "trust.json").exists()


async def test_nothing_is_asked_where_all_is_settled(desk):
    async with desk(asks=True, config="model: demo\n") as d:
        await d.until(lambda: d.main.sessions.count == 1)
        await d.pilot.pause()
        assert (d.app.screen, d.toasts) == (d.main, [])
