"""/model on the screen: a provider, then a model, for as long as the person says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from agent.providers.base import Reply
from agent.session_model import Holds
from session.models import Finish, Usage
from tui.screens.key import KeyScreen
from tui.screens.model import ModelScreen
from tui.screens.switch import BusySwitchScreen

CONFIG = """\
model: {{default: m, provider: here}}
auxiliary: {{titles: false}}
model_aliases: {{fav: here:big}}
providers:
  here:
    base_url: {url}
    models:
      m: {{context_length: 100000, price: {{input: 2, output: 8}}}}
      tiny: {{context_length: 500}}
  keyed: {{base_url: {url}, key_env: KEYED_KEY}}
"""


class Models:
    """A server that lists models, and notes which key it was asked with."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def config(self) -> str:
        return CONFIG.format(url=f"http://127.0.0.1:{self.http.server_port}/v1")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        models = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                models.keys.append(self.headers["authorization"] or "")
                listed = [{"id": "m"}, {"id": "tiny"}, {"id": "big"}, {"id": "[bold]odd[/]", "context_length": 9000}]
                body = json.dumps({"data": listed}).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        return Answer


@pytest.fixture
def models() -> Iterator[Models]:
    server = Models()
    yield server
    server.http.shutdown()
    server.http.server_close()


async def opened(d: Any) -> Any:
    await d.send("/model")
    await d.until(lambda: isinstance(d.app.screen, ModelScreen))
    await d.until(lambda: d.app.screen._rows.keys)
    return d.app.screen


def rows(screen: Any) -> list[str]:
    return screen._rows.keys


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_the_provider_and_the_model_that_answer_are_marked_and_enter_chooses(desk, models, size):
    async with desk(size=size, config=models.config) as d:
        await d.write("a draft")
        await d.press("ctrl+u")
        screen = await opened(d)
        assert screen._rows.marked == "server here"
        assert "Holds for this session" in d.text
        await d.press("enter")
        await d.until(lambda: "model here:big" in rows(screen))
        assert screen._rows.marked == "model here:m"
        assert "[bold]odd[/]" in d.text
        if size == (80, 24):
            assert "$2/$8    100k  fits" in d.text
        await d.press(*"big", "ctrl+g", "enter")
        await d.until(lambda: d.main.runtime.s.route.model == "big")
        assert d.main.runtime.model.is_once
        await d.until(lambda: "once: big" in d.text)
        assert d.main.focused is d.main.composer


async def test_esc_undoes_the_filter_then_goes_back_then_leaves(desk, models):
    async with desk(config=models.config) as d:
        screen = await opened(d)
        await d.press("enter")
        await d.until(lambda: "model here:big" in rows(screen))
        await d.press(*"tin")
        assert rows(screen) == ["model here:tiny"]
        await d.press("escape")
        assert len(rows(screen)) == 4
        await d.press("escape")
        assert screen._rows.marked == "server here"
        await d.press(*"fav")
        assert rows(screen)[0] == "model fav"
        await d.press("escape", "escape")
        await d.until(lambda: d.app.screen is d.main)
        assert d.main.runtime.s.route.model == "m"


async def test_a_key_is_asked_for_hidden_and_the_models_are_listed_with_it(desk, models, tmp_path):
    async with desk(config=models.config) as d:
        screen = await opened(d)
        await d.press(*"keyed", "enter")
        await d.until(lambda: isinstance(d.app.screen, KeyScreen))
        await d.press(*"sk-0123456789abc")
        assert "sk-0123" not in d.text
        await d.pilot.pause(0.2)
        await d.press("enter")
        await d.until(lambda: "model keyed:big" in rows(screen))
        assert models.keys[-1] == "Bearer sk-0123456789abc"
        assert "KEYED_KEY" in (tmp_path / "home" / ".env").read_text()
        await d.press(*"big", "enter")
        await d.until(lambda: d.main.runtime.s.route.provider == "keyed")


async def test_a_model_that_is_too_small_is_told_before_it_is_chosen(desk, script, models):
    async with desk(size=(80, 24), config=models.config) as d:
        script.answers.append(Reply("word " * 3_000, "", "", (), Finish.STOP, Usage(input=4_000, output=4_000)))
        await d.send("tell")
        await d.until(lambda: script.requests)
        await d.idle()
        screen = await opened(d)
        await d.press("enter")
        await d.until(lambda: "model here:tiny" in rows(screen))
        await d.until(lambda: "too small" in d.text)


async def test_a_switch_while_a_turn_runs_asks_and_waits_for_its_end(desk, script, models):
    async with desk(size=(80, 24), config=models.config) as d:
        gate = script.holds("one")
        await d.send("first")
        await d.until(lambda: script.requests)
        await d.send("/model fav --once")
        await d.until(lambda: isinstance(d.app.screen, BusySwitchScreen))
        await d.asked()
        assert "big when this has ended" in d.text
        await d.press("1")
        await d.until(lambda: "m → big" in d.text)
        gate.set()
        await d.until(lambda: "once: big" in d.text)
        assert (d.main.runtime.s.route.model, d.main.runtime.s.session.route.model) == ("big", "m")


async def test_how_long_a_choice_holds_is_turned_with_a_key(desk, models):
    async with desk(config=models.config) as d:
        screen = await opened(d)
        told = [screen._holds]
        for _ in range(3):
            await d.press("ctrl+g")
            told.append(screen._holds)
        assert told == [Holds.SESSION, Holds.ONCE, Holds.GLOBAL, Holds.SESSION]
