"""Pictures of the sessions: beside the conversation with all that one can be doing, as a drawer, and searched."""

from __future__ import annotations

import time

import pytest

from agent.session_run import Live
from session.models import Finish, Message, Role, Session, TitleSource
from session.tables import Tables

ATLAS, SITE = "/nowhere/atlas", "/nowhere/site"
DAY_S = 86_400
STORED = {
    "Faster map import": [
        Message("", Role.USER, "Loading a map takes four seconds. Find out why.", 1e9),
        Message("", Role.ASSISTANT, "Every tile is **decoded twice**. I can cache them.", 1e9, finish=Finish.STOP),
    ]
}
# Title, folder, days ago, and what was said.
OTHERS = [
    ("Release notes for 2.4", SITE, 0, "publish"),
    ("Map legend in Japanese", ATLAS, 0, "translate"),
    ("Move the tile store to object storage", ATLAS, 0, "move"),
    ("Check the licences", SITE, 0, "check"),
    ("Coastlines at zoom level 3", ATLAS, 1, ""),
    ("Why is the tile cache cold?", ATLAS, 3, ""),
    ("Upgrade the build", SITE, 40, ""),
]
STATES = [(Live.ASKING, False), (Live.WORKING, False), (Live.FAILED, True), (Live.IDLE, True)]


@pytest.fixture
def sidebar(picture, model):
    """`sidebar(theme, size, act)`: the picture of a list in which every state is told."""
    model.does("publish", command="git tag v2.4")
    model.does("translate", text="読んでいます", is_held=True)
    model.does("move", status=401)
    model.does("check", text="All are free.")

    async def fill(scene) -> None:
        route, now = scene.hub.choice.route, time.time()

        def store(tables: Tables) -> None:
            for title, folder, days, _ in OTHERS:
                at = now - days * DAY_S - len(title)
                session = Session(title, "tui", title, TitleSource.PERSON, folder, folder, at, at, route)
                tables.sessions.create(session)
            tables.messages.append(Message(OTHERS[4][0], Role.USER, "Draw them.", now - DAY_S))  # nobody answered
            tables.sessions.set_pinned(OTHERS[6][0], True)

        scene.hub.profile.db.write(store).result()
        main = scene.app.main  # what its watcher read before would take the place of the list
        await scene.until(lambda: not main._is_showing() or main._watcher._version is not None)
        main.sessions.sync(await scene.hub.catch_up())
        for (title, _, _, prompt), state in zip(OTHERS, STATES, strict=False):
            scene.hub.submit((await scene.hub.open(title)).id, prompt)
            await scene.until(lambda: scene.told(title))  # noqa: B023
            await scene.until(lambda: (scene.told(title).state, scene.told(title).is_unread) == state)  # noqa: B023

    def taken(theme: str, size: tuple[int, int], act) -> bool:
        async def prepare(scene) -> None:
            await fill(scene)
            await act(scene)

        return picture(theme, size, model.config, STORED, prepare)

    return taken


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_sidebar(sidebar, theme: str):
    """By day, with the keys in it: one is pinned, and each state is there."""

    async def act(scene) -> None:
        await scene.pilot.press("f4")
        await scene.until(lambda: scene.app.main.sessions.has_focus and "ctrl+r rename" in scene.text)
        await scene.pilot.press("up")

    assert sidebar(theme, (120, 40), act)


def test_drawer(sidebar):
    """On a narrow screen, looked through by project and by words."""

    async def act(scene) -> None:
        await scene.pilot.press("ctrl+b", "ctrl+g", *"a")
        await scene.until(lambda: "atlas" in scene.text and "enter open" in scene.text)

    assert sidebar("dark", (80, 24), act)


def test_search(sidebar):
    async def act(scene) -> None:
        await scene.pilot.press("ctrl+f", *"tile")
        await scene.until(lambda: scene.app.screen.searched == "tile" and "decoded twice" in scene.text)

    assert sidebar("dark", (120, 40), act)
