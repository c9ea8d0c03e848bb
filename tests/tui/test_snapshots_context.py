"""Pictures of what tells of the context: /context, /compact preview, /usage, and the question before a switch."""

from __future__ import annotations

from typing import Any

import pytest

from agent.commands.context_report import context_asked
from agent.context.compaction import plan_of
from agent.context.of_session import split_of
from session.models import Approval, CallOutcome, CallResult, Finish, Message, Role, ToolCall
from tui.screens.context import ContextScreen
from tui.screens.report import ReportScreen
from tui.screens.switch import SwitchScreen

SMALL = "gpt-oss-20b"
ASKED = [
    "Loading a map takes four seconds. Find out why.",
    "Is every tile decoded twice?",
    "Then fix it.",
    "Run the tests.",
]
SAID = (
    "The profile says that `decode_tile` takes nearly all of the time: each tile is decoded once for each layer. " * 12
)
FILE = "\n".join(f"{number}|    tile = decode_tile(key, bounds[{number}])" for number in range(1, 420))

VIEWS = [("dark", (40, 24)), ("light", (80, 24))]
pytestmark = pytest.mark.parametrize(
    ("theme", "size"), VIEWS, ids=[f"{theme}-{cells}x{rows}" for theme, (cells, rows) in VIEWS]
)


def conversation() -> list[Message]:
    """Four questions, each with a file that was read for it and a long answer."""
    rows: list[Message] = []
    for number, asked in enumerate(ASKED):
        call = ToolCall(f"c{number}", "read_file", f'{{"path":"atlas/layer_{number}.py"}}')
        result = CallResult(call.id, call.name, CallOutcome.OK, Approval.NOT_ASKED)
        rows += [
            Message("", Role.USER, asked, 1e9),
            Message("", Role.ASSISTANT, "", 1e9, calls=(call,), finish=Finish.TOOL_CALLS),
            Message("", Role.TOOL, FILE, 1e9, result=result),
            Message("", Role.ASSISTANT, SAID, 1e9, finish=Finish.STOP),
        ]
    return rows


def config(model: Any) -> dict[str, Any]:
    """The model that answers, with its price, and a smaller one."""
    told = model.config
    models = told["providers"]["desk"]["models"]
    price = {"input": 2, "output": 8, "cache_read": 0.5}
    models = {name: {**entry, "price": price} for name, entry in models.items()}
    told["providers"]["desk"]["models"] = {**models, SMALL: {"context_length": 16_384, "price": price}}
    return told


async def answer(scene: Any) -> None:
    await scene.send("Go on.")
    await scene.until(lambda: not scene.app.main.runtime.is_busy and scene.is_settled and "41" in scene.text)


@pytest.fixture
def shown(picture: Any, model: Any, theme: str, size: tuple[int, int]) -> Any:
    """The picture of what a line leads to, behind an answer whose tokens the server counted."""
    model.does("Go on.", text="All of it passes.", read=41_000)

    def taken(line: str, kind: type) -> bool:
        async def act(scene: Any) -> None:
            await answer(scene)
            await scene.send(line)
            await scene.until(lambda: isinstance(scene.app.screen, kind))
            await scene.until(lambda: getattr(scene.app.screen, "is_armed", True))

        return picture(theme, size, config(model), {"Faster map import": conversation()}, act)

    return taken


def test_context(picture: Any, model: Any, theme: str, size: tuple[int, int]):
    """Twelve seconds behind an answer."""
    model.does("Go on.", text="All of it passes.", read=41_000)

    async def act(scene: Any) -> None:
        await answer(scene)
        runtime = scene.app.main.runtime
        split, plan = split_of(runtime.s), await plan_of(runtime.s)
        scene.app.main.effects.follow(context_asked(split, plan, runtime.s.route, split.figure.read_at + 12))
        await scene.until(lambda: isinstance(scene.app.screen, ContextScreen))

    assert picture(theme, size, config(model), {"Faster map import": conversation()}, act)


def test_preview(shown: Any):
    assert shown("/compact preview", ReportScreen)


def test_usage(shown: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agent.open_session.day_of", lambda at: "2026-11-30")
    monkeypatch.setattr("agent.spending.day_of", lambda at: "2026-11-24")
    assert shown("/usage", ReportScreen)


def test_switch(shown: Any):
    assert shown(f"/model {SMALL}", SwitchScreen)
