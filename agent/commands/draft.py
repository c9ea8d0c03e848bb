"""/image and /editor: what goes into the draft, and writing it elsewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agent.commands.table import Command, EditorAsked, Effect, ImagesAsked, Said, When
from agent.hub import Hub
from agent.image_files import look_at
from agent.image_paths import paths_in
from session.models import ApiMode, Level


def why_no_images(hub: Hub, session_id: str) -> str:
    """A sentence where the model of a session is known to take no images, else ""."""
    s = hub.runtime(session_id).s
    if s.route.api_mode is ApiMode.DEMO:
        return "The demo takes no images. /model chooses a model that does."
    if not s.parts.compatibility_for(s.route).images:
        return f"{s.route.model} at {s.route.provider} takes no images. /model chooses a model that does."
    return ""


async def _image(hub: Hub, session_id: str, argument: str) -> Effect:
    """Raises NoImage."""
    if why := why_no_images(hub, session_id):
        return Said(why, Level.WARNING)
    if not argument:
        return ImagesAsked(session_id, ())
    folder = Path(hub.runtime(session_id).s.session.cwd)
    files = await asyncio.to_thread(lambda: tuple(look_at(path) for path in paths_in(argument, folder)))
    return ImagesAsked(session_id, files) if files else Said("Write /image and the path of an image.", Level.WARNING)


async def _editor(hub: Hub, session_id: str, argument: str) -> Effect:
    return EditorAsked(argument)


DRAFT_COMMANDS: tuple[Command, ...] = (
    Command(
        "image", "[path]", "puts an image into the draft: a file, or what is on the clipboard", When.ALWAYS, _image
    ),
    Command("editor", "[text]", "opens your editor on the draft, or on this text", When.ALWAYS, _editor),
)
