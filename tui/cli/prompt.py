"""`hermes prompt`: what a model is told before the conversation, and how much each part of it takes. Nothing is sent."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent.context.features import of_text
from agent.context.weights import ROUGH
from agent.context.window import Windows
from agent.personality import is_none
from agent.profile import Profile
from agent.prompt import PromptPart
from agent.prompt_of_session import SessionPrompt
from agent.prompt_source import PromptSource
from agent.route import choose_route
from agent.workspace import find_workspace
from session.models import Session, TitleSource
from tui.cli.console import answer, data, remark
from tui.cli.options import PromptOptions, folder
from tui.cli.table import table

ABOUT = "Tokens are estimated; nothing was sent."


def run_prompt(options: PromptOptions, environ: Mapping[str, str]) -> int:
    """With --json one object is printed. Raises UserError."""
    cwd = folder(options.cwd)
    profile = Profile.load(environ, name=options.profile, cwd=cwd)
    try:
        prompt = asyncio.run(_made(profile, cwd, options))
    finally:
        profile.close()
    if options.as_json:
        record = {"parts": [_record(part, options.verb) for part in prompt.parts], **_size(prompt.text)}
        data(json.dumps({**record, "notices": prompt.notices()}))
        return 0
    answer(prompt.text if options.verb == "show" else _sizes(prompt.parts, prompt.text))
    for notice in prompt.notices():
        remark(notice)
    return 0


async def _made(profile: Profile, cwd: Path, options: PromptOptions) -> SessionPrompt:
    """The prompt that the next turn would have. Raises UserError."""
    source, windows = PromptSource(profile), await Windows.load(profile.db)
    try:
        session, kept = await _stored(profile, options.session) if options.session else (_new(cwd), "")
        route = session.route or choose_route(profile.settings, profile.secrets, None).route
        spoken = options.personality or session.personality or ("" if options.session else source.new_personality)
        if options.personality and not is_none(options.personality):
            spoken = source.read_personalities().named(options.personality).name
        prompt = SessionPrompt(source)
        await prompt.ready(session, windows.on(route).window, kept)
        await prompt.lay_over("" if is_none(spoken) else spoken)
        return prompt
    finally:
        await windows.close()


async def _stored(profile: Profile, name: str) -> tuple[Session, str]:
    """A session, and the prompt that it was stored with. Raises UserError."""
    from agent.session_names import named

    session = await asyncio.wrap_future(profile.db.read(lambda tables: named(tables, name)))
    return session, await asyncio.wrap_future(profile.db.read(lambda tables: tables.prompts.get(session.prompt_hash)))


def _new(cwd: Path) -> Session:
    now = time.time()
    return Session("", "", "", TitleSource.DERIVED, str(cwd), str(find_workspace(cwd)), now, now)


def _sizes(parts: Sequence[PromptPart], text: str) -> str:
    rows = [(part.name, str(part.tier), *_figures(part.text), part.origin) for part in parts]
    named = table([("Part", "Tier", "Bytes", "Tokens", "From"), *rows, ("all of it", "", *_figures(text), "")])
    return f"{named}\n\n{ABOUT}"


def _figures(text: str) -> tuple[str, str]:
    size = _size(text)
    return f"{size['size_bytes']:,}", f"~{size['tokens']:,}"


def _size(text: str) -> dict[str, int]:
    return {"size_bytes": len(text.encode("utf-8", "surrogatepass")), "tokens": ROUGH.tokens(of_text(text))}


def _record(part: PromptPart, verb: str) -> dict[str, object]:
    told: dict[str, object] = {"name": part.name, "tier": part.tier.value, "from": part.origin, **_size(part.text)}
    return {**told, "text": part.text} if verb == "show" else told
