"""Pictures of the question about a call, with much to show and in its second looks, and of a question of the model's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent.approvals.details import NO_DETAILS, Details, Offer, encoded
from agent.approvals.shell_verdict import Decision, Mark, Part
from agent.tools import ask_user
from session.models import ApprovalRequest, Message, Role

LOW, NARROW, WIDE, WIDER = (40, 10), (80, 24), (120, 40), (160, 50)


def in_words(value: object) -> str:
    return f"{value[0]}x{value[1]}" if isinstance(value, tuple) else str(value)


STORY = {
    "Faster map import": [
        Message("", Role.USER, "The import is slow. Find out why, and publish what helps.", 1e9),
        Message("", Role.ASSISTANT, "A profile first: guessing where time goes is rarely right.", 1e9),
    ],
    "Release notes for 2.4": [],
}

PUSH = "git push --force-with-lease origin faster-import"
SHORT = Details(
    parts=(
        Part("git fetch -q", ("git", "fetch", "-q"), Decision.ALLOW, "allow git fetch"),
        Part(PUSH, tuple(PUSH.split()), Decision.ASK, "no rule", "sends commits to another place"),
        Part("wc -l", ("wc", "-l"), Decision.ALLOW, "read-only"),
    ),
    marks=(Mark("git", "replaces what others may have fetched"),),
    hosts=("github.com",),
    may_save=True,
    offers=(
        (
            Offer(f"= {PUSH}", "exact", 0),
            Offer("git push", "subcommand", 14),
            Offer("git *", "prefix", 61),
        ),
    ),
    command=f"git fetch -q && {PUSH} | wc -l",
)
URL = "curl -s 'https://maps.example.com/tiles?" + "&".join(f"tile{n:03}={n * 7919:05}" for n in range(404)) + "'"
HEREDOC = "python - <<'END'\n" + "\n".join(f"tiles[{n}] = decode({n * 16:#06x})" for n in range(300)) + "\nEND"
GLYPHS = "cp 地図/凡例.md 'Ø-𝔪𝔞𝔭 👩🏽‍💻 مرحبا.md' && mv https://\u0430tlas.example/\u202egnp.exe /tmp/\u200bout"

BEFORE = '''"""Reading maps."""

import json
from pathlib import Path

from atlas.tiles import Tile, TileKey


def decode_tile(path: Path) -> Tile:
    return Tile.parse(read(path))  # every time


def bounds(tiles: list[Tile]) -> Box:
    boxes = [tile.box for tile in tiles]
    return Box.around(boxes)


def legend() -> str:
\treturn "地図の凡例 🗺️"


def check(folder: Path) -> int:
    wrong = 0
    for path in sorted(folder.glob("*.tile")):
        if not decode_tile(path).is_valid:
            wrong += 1
    return wrong
'''
AFTER = (
    BEFORE.replace(
        "def decode_tile(path: Path) -> Tile:\n    return Tile.parse(read(path))  # every time\n",
        "@cache\ndef decode_tile(key: TileKey) -> Tile:\n    return Tile.parse(read(key.path))  # once for each key\n",
    )
    .replace("import json\n", "import json\nfrom functools import cache\n")
    .replace(
        "地図の凡例 🗺️",
        "地図の凡例 🗺️ – ein sehr langer Text, der auch auf einem breiten Schirm nicht in eine Zeile passt",
    )
    .rstrip("\n")
)
CHANGE = Details(
    writes=("/nowhere/atlas/atlas/importer.py",), path="/nowhere/atlas/atlas/importer.py", before=BEFORE, after=AFTER
)


def ask(
    scene: Any,
    shown: str,
    details: Details | ask_user.Question = NO_DETAILS,
    tool: str = "terminal",
    why: str = "runs a command",
    number: int = 1,
) -> None:
    """Put a question into the inbox, as a turn does; it is withdrawn when the app ends."""
    session = scene.app.main.runtime.id
    kept = ask_user.encoded(details) if isinstance(details, ask_user.Question) else encoded(details)
    request = ApprovalRequest(f"ask_{number:012x}", session, "call_1", tool, shown, why, 1e9, kept)
    task = asyncio.create_task(scene.hub._parts.inbox.wait(request, 0))
    asyncio.get_running_loop().call_soon(scene.app.main._ask)
    scene.app._asked = [*getattr(scene.app, "_asked", []), task]


async def armed(scene: Any) -> None:
    await scene.until(lambda: getattr(scene.app.screen, "is_armed", False))


@pytest.mark.parametrize(("theme", "size"), [("dark", NARROW), ("dark", WIDE), ("light", WIDE)], ids=in_words)
def test_short(picture, theme, size):
    """Three parts, one of which is asked about, and it is dangerous."""

    async def act(scene):
        ask(scene, SHORT.command, SHORT, why="sends commits to another place")
        await armed(scene)

    assert picture(theme, size, {}, STORY, act)


@pytest.mark.parametrize("size", [LOW, (20, 6)], ids=in_words)
def test_low(picture, size):
    async def act(scene):
        ask(scene, SHORT.command, SHORT, why="sends commits to another place")
        await armed(scene)

    assert picture("dark", size, {}, STORY, act)


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=in_words)
def test_url_of_6000_characters(picture, size):
    async def act(scene):
        part = Part(URL, ("curl",), Decision.ASK, "no rule", "reaches the network")
        ask(scene, URL, Details(parts=(part,), hosts=("maps.example.com",), command=URL))
        await armed(scene)

    assert picture("dark", size, {}, STORY, act)


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=in_words)
def test_heredoc_of_300_lines_at_its_end(picture, size):
    async def act(scene):
        part = Part(
            "python -", ("python", "-"), Decision.ASK, "cannot be judged", "runs a program that is handed to it"
        )
        ask(scene, HEREDOC, Details(parts=(part,), command=HEREDOC))
        await armed(scene)
        await scene.pilot.press("end")

    assert picture("dark", size, {}, STORY, act)


@pytest.mark.parametrize(
    ("theme", "size"), [("dark", (60, 24)), ("dark", WIDE), ("dark", WIDER), ("light", WIDE)], ids=in_words
)
def test_change(picture, theme, size):
    """A tab, wide glyphs, a line that is wrapped, and a line end that is lost."""

    async def act(scene):
        ask(scene, "atlas/importer.py\n" + AFTER, CHANGE, "write_file", "writes a file")
        await armed(scene)

    assert picture(theme, size, {}, STORY, act)


def test_change_at_its_end(picture):
    async def act(scene):
        ask(scene, "atlas/importer.py\n" + AFTER, CHANGE, "write_file", "writes a file")
        await armed(scene)
        await scene.pilot.press("end")

    assert picture("dark", (60, 24), {}, STORY, act)


def test_new_file(picture):
    async def act(scene):
        details = Details(
            writes=("/nowhere/atlas/run.bat",), path="/nowhere/atlas/run.bat", after="@echo off\r\npy -m atlas\r\n"
        )
        ask(scene, "run.bat\n@echo off", details, "write_file", "writes a file")
        await armed(scene)

    assert picture("dark", WIDE, {}, STORY, act)


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=in_words)
def test_glyphs(picture, size):
    """Wide and joined ones, a look-alike, a turn of direction and one without width."""

    async def act(scene):
        ask(scene, GLYPHS, Details((Part(GLYPHS, None, Decision.ASK, "cannot be judged", "has odd words"),)))
        await armed(scene)

    assert picture("dark", size, {}, STORY, act)


def test_three_queued(picture):
    async def act(scene):
        for number in (1, 2, 3):
            ask(scene, f"touch {number}.txt", number=number)
        await armed(scene)

    assert picture("dark", NARROW, {}, STORY, act)


def test_waiting(picture):
    """Not armed yet."""

    async def act(scene):
        ask(scene, "touch 1.txt")
        await scene.until(lambda: "wait…" in scene.text)

    assert picture("dark", NARROW, {"approvals": {"arm_ms": 10_000}}, STORY, act)


async def take_step(scene: Any, key: str) -> None:
    ask(scene, SHORT.command, SHORT, why="sends commits to another place")
    await armed(scene)
    below = scene.app.screen
    await scene.pilot.press(key)
    await scene.until(lambda: scene.app.screen is not below)
    await armed(scene)


@pytest.mark.parametrize(("theme", "size"), [("dark", NARROW), ("light", WIDE), ("dark", LOW)], ids=in_words)
def test_always(picture, theme, size):
    async def act(scene):
        await take_step(scene, "3")
        await scene.pilot.press("up", "up", "up", "right")

    assert picture(theme, size, {}, STORY, act)


@pytest.mark.parametrize("size", [NARROW, LOW], ids=in_words)
def test_deny_with_a_reason(picture, size):
    async def act(scene):
        await take_step(scene, "6")
        await scene.pilot.press(*"Not on a Friday. Open a pull request")
        await armed(scene)

    assert picture("dark", size, {}, STORY, act)


@pytest.mark.parametrize("size", [NARROW, LOW], ids=in_words)
def test_edit(picture, size):
    async def act(scene):
        await take_step(scene, "4")
        await scene.pilot.press("tab")
        await armed(scene)

    assert picture("dark", size, {}, STORY, act)


ASKED = ask_user.Question(
    "The tiles of 2019 have no legend. Importing them takes 40 minutes either way.\n\nWhich legend should they get?",
    ("The one of 2020, with a note", "None: leave the column empty", "Read it from 凡例.pdf, page by page"),
)


@pytest.mark.parametrize(("theme", "size"), [("dark", NARROW), ("dark", WIDE), ("light", WIDE)], ids=in_words)
def test_question(picture, theme, size):
    """Choices, and an answer in the person's own words under way."""

    async def act(scene):
        ask(scene, ASKED.text, ASKED, ask_user.NAME, "asks you")
        await armed(scene)
        if size == WIDE:
            await scene.pilot.press(*"The one of 2020, but")
            await armed(scene)

    assert picture(theme, size, {}, STORY, act)


def test_question_with_choices_alone(picture):
    """One of them does not fit into its row."""
    long = "Import what there is now, mark the tiles without a legend, and ask me again when the others are in"
    question = ask_user.Question(ASKED.text, (long, "Stop here"), allows_text=False)

    async def act(scene):
        ask(scene, question.text, question, ask_user.NAME, "asks you")
        await armed(scene)
        await scene.pilot.press("up")

    assert picture("dark", NARROW, {}, STORY, act)
