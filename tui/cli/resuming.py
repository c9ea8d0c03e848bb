"""The command with which a person comes back to where they left."""

from __future__ import annotations

from collections.abc import Mapping

from agent.config.home import find_home
from agent.config.profile_name import DEFAULT
from agent.hub import Hub
from session.errors import UserError


def how_to_resume(hub: Hub, session_id: str, environ: Mapping[str, str]) -> str:
    """A line that names the session and the exact command, "" for one that was never stored or is deleted."""
    runtime = hub.runtime(session_id)
    if not runtime.s.is_stored or runtime.s.backlog.is_new or runtime.is_deleted:
        return ""
    profile = hub.profile.name
    named = "" if _is_plain(profile, environ) else f" -p {profile}"
    title = " ".join(hub.profile.secrets.mask(runtime.s.session.title).split())
    return f"To go on with “{title}”: hermes tui --resume {session_id}{named}"


def _is_plain(profile: str, environ: Mapping[str, str]) -> bool:
    """Whether `hermes` alone would open this profile, now and after another one was chosen with `profile use`."""
    try:
        return profile == DEFAULT == find_home(environ).name
    except UserError:
        return False
