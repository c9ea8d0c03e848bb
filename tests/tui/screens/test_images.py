"""Images in a draft: dropped, pasted or named, they are labels that go out with the prompt."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from urllib.parse import quote

import pytest
from msgspec.structs import replace
from textual.events import Paste

from session.process import this_process

SERVED = "providers: {served: {base_url: 'http://127.0.0.1:9/v1'}}\nmodel: {default: m, provider: served}\n"


def png(path: Path, width: int = 640, height: int = 480) -> Path:
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x06\0\0\0")
    return path


async def paste(d, text: str) -> None:
    d.app.post_message(Paste(text))
    await d.pilot.pause()


async def press(d, *keys: str) -> None:
    """Keys of a person: no burst."""
    await d.pilot.pause(0.02)
    await d.press(*keys)


def sent_images(d) -> list[list[str]]:
    """The parts of each prompt in the conversation, by their types."""
    rows = [row for row in d.main.runtime.s.rows if row.role == "user"]
    return [[part["type"] for part in json.loads(row.parts)] if row.parts else [] for row in rows]


WRITTEN = {
    "plain": lambda path: str(path),
    "quoted": lambda path: f"'{path}' ",
    "escaped": lambda path: str(path).replace(" ", "\\ "),
    "address": lambda path: f"file://{quote(str(path))}",
}


@pytest.mark.parametrize("written", WRITTEN)
async def test_a_dropped_image_is_a_label_and_goes_out_as_an_image(desk, script, tmp_path: Path, written: str):
    image = png(tmp_path / "my shot.png")
    async with desk(config=SERVED) as d:
        await d.write("what is in ")
        await paste(d, WRITTEN[written](image))
        await d.until(lambda: d.draft == "what is in [image 1: my shot.png 640x480] ")
        script.says("a cat")
        await press(d, "enter")
        await d.idle()
        (content,) = [message["content"] for message in script.requests[0].messages if message["role"] == "user"]
        assert [part["type"] for part in content] == ["text", "image_url"]
        assert content[0]["text"].startswith("what is in [image 1: my shot.png 640x480]")
        assert content[1]["image_url"]["url"].startswith("data:image/png;base64,")
        script.says("still a cat")
        await d.send("/retry")
        await d.until(lambda: len(script.requests) == 2)
        await d.idle()
        assert sent_images(d) == [["text", "image_url"]]


async def test_several_come_at_once_and_one_key_removes_one(desk, tmp_path: Path):
    first, second = png(tmp_path / "a.png", 1, 2), png(tmp_path / "b.png", 3, 4)
    async with desk(config=SERVED) as d:
        await paste(d, f"{first}\n{second}")
        await d.until(lambda: d.draft == "[image 1: a.png 1x2] [image 2: b.png 3x4] ")
        await press(d, "backspace", "backspace")
        assert d.draft == "[image 1: a.png 1x2] " and d.main.composer.images == (str(first),)


@pytest.mark.parametrize("name", ["notes.txt", "fake.png", "absent.png"])
async def test_a_path_that_is_no_image_stays_text(desk, tmp_path: Path, name: str):
    path = tmp_path / name
    if name != "absent.png":
        path.write_text("words")
    async with desk(config=SERVED) as d:
        await paste(d, str(path))
        await d.until(lambda: not [one for one in d.app.workers if one.group == "images"])
        assert d.draft == str(path) and not d.main.composer.images


async def test_where_the_model_takes_none_it_says_so_and_leaves_the_text(desk, tmp_path: Path):
    image = png(tmp_path / "a.png")
    async with desk() as d:  # the demo
        await paste(d, str(image))
        await d.until(lambda: d.toasts)
        assert "The demo takes no images" in d.toasts[-1] and d.draft == str(image)
    config = SERVED.replace("9/v1'}", "9/v1', compatibility: {images: no}}")
    async with desk(config=config) as d:
        await d.send(f"/image {image}")
        await d.until(lambda: "m at served takes no images" in "".join(d.toasts))
        assert d.draft == f"/image {image}"


async def test_a_label_outlives_the_process_in_the_draft_and_in_the_history(
    desk, script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    image = png(tmp_path / "a.png", 1, 2)
    monkeypatch.setattr("agent.unsent.this_process", lambda: replace(this_process(), pid=2**22 + 1))
    async with desk(config=SERVED) as d:
        await paste(d, str(image))
        await d.until(lambda: d.main.composer.images)
        d.main.drafts.save()
    monkeypatch.undo()
    async with desk(config=SERVED) as d:
        await d.until(lambda: d.main.composer.images == (str(image),))
        script.says("seen")
        await press(d, "enter")
        await d.idle()
        await press(d, "up")
        assert d.main.composer.images == (str(image),)
        d.main.composer.set_draft("")


async def test_a_queued_prompt_carries_its_images_also_over_a_restart(desk, script, tmp_path: Path):
    image = png(tmp_path / "a.png", 1, 2)
    async with desk(config=SERVED) as d:
        gate = script.holds("working")
        await d.send("go")
        await d.until(lambda: script.requests)
        await d.write("see ")
        await paste(d, str(image))
        await d.until(lambda: d.main.composer.images)
        await press(d, "enter")
        await d.until(lambda: d.main.runtime.queue)
        await press(d, "ctrl+t")
        assert d.main.composer.images == (str(image),)
        await press(d, "enter")
        await d.until(lambda: d.main.runtime.queue)
        session_id = d.shown
        await press(d, "escape")
        await d.idle()
        del gate
    async with desk(config=SERVED) as d:
        await d.main.bring(session_id)
        await press(d, "ctrl+t")
        assert (d.draft, d.main.composer.images) == ("see [image 1: a.png 1x2] ", (str(image),))
        script.says("seen")
        await press(d, "enter")
        await d.until(lambda: len(script.requests) == 2)
        await d.idle()
        assert sent_images(d) == [[], ["text", "image_url"]]


async def test_an_image_that_is_gone_when_its_turn_comes_loses_no_prompt(desk, script, tmp_path: Path):
    image = png(tmp_path / "a.png", 1, 2)
    async with desk(config=SERVED) as d:
        await d.send(f"/image {image}")
        await d.until(lambda: d.main.composer.images)
        image.unlink()
        await d.write("look")
        await press(d, "enter")
        await d.until(lambda: d.main.runtime.queue and not d.main.runtime.is_busy)
        assert not script.requests and "can't be sent" in " ".join(d.toasts)
        await press(d, "ctrl+t")
        assert d.main.composer.images == (str(image),)


async def test_the_command_takes_what_is_on_the_clipboard_or_says_what_is_missing(desk, tmp_path: Path):
    tool = tmp_path / "bin" / "xclip"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\nexec cat {png(tmp_path / 'shot.png', 5, 6)}\n")
    tool.chmod(0o755)
    path = f"{tool.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
    async with desk(config=SERVED, env={"DISPLAY": ":9", "PATH": path}) as d:
        await d.send("/image")
        await d.until(lambda: d.main.composer.images)
        assert d.draft.startswith("[image 1: clipboard-") and d.draft.endswith(" 5x6] ")
        assert Path(d.main.composer.images[0]).stat().st_mode & 0o777 == 0o600
        d.main.composer.set_draft("")
        tool.unlink()
        await d.send("/image")
        await d.until(lambda: d.toasts)
        assert "xclip (of xclip) is not installed" in d.toasts[-1]


async def test_images_go_with_no_command(desk, tmp_path: Path):
    async with desk(config=SERVED) as d:
        await paste(d, str(png(tmp_path / "a.png", 1, 2)))
        await d.until(lambda: d.main.composer.images)
        draft = f"/title {d.draft}"
        d.main.composer.set_draft(draft)
        await press(d, "enter")
        await d.until(lambda: d.toasts)
        assert d.draft == draft and "Images go with a prompt" in d.toasts[-1]
