"""What the status row tells of the session that is shown."""

from __future__ import annotations

from pathlib import Path

from agent.approvals.shell_verdict import Mode
from agent.config.profile_name import DEFAULT
from agent.hub import Hub
from agent.runtime import Live, Runtime
from tui.widgets.status_bar import Status
from tui.widgets.waiting import Waits

HINTS = {Live.WORKING: "esc interrupts", Live.ASKING: "ctrl+c interrupts"}  # Esc denies what is asked


def status_of(hub: Hub, runtime: Runtime, waits: Waits, now_s: float, asking_elsewhere: int) -> Status:
    """`now_s` is on the clock of `Runtime.working_since`; `asking_elsewhere` counts sessions of other profiles."""
    since_s = runtime.working_since
    return Status(
        model=_model(runtime),
        state=runtime.state,
        context=hub.context(runtime.id),
        folder=_place(hub, runtime),
        working_s=int(now_s - since_s) if since_s is not None else 0,
        compacting_s=waits.compacting_s(runtime.id),
        waiting=waits.told(runtime.id),
        queued=len(runtime.queue),
        unstored=runtime.s.backlog.said if runtime.s.is_behind else None,
        hint=_hint(hub, runtime, asking_elsewhere),
        mode="" if runtime.mode is Mode.ASK else runtime.mode.value,
        personality=runtime.s.session.personality,
    )


def _model(runtime: Runtime) -> str:
    """What answers, and what takes over: a model for one turn, or one that waits for the end of this one."""
    model, coming = runtime.s.route.model, runtime.model.coming
    if coming is not None:
        return f"{model} → {coming.route.model}"
    return f"once: {model}" if runtime.model.is_once else model


def _place(hub: Hub, runtime: Runtime) -> str:
    """The folder, after the profile where it is not the first one."""
    profile, folder = hub.profile.name, Path(runtime.s.session.cwd).name
    return folder if profile == DEFAULT else f"{profile}: {folder}"


def _hint(hub: Hub, runtime: Runtime, asking_elsewhere: int) -> str:
    asking = len({request.session_id for request in hub.pending()} - {runtime.id})
    if asking:
        return f"{asking} asking · ctrl+n"
    if asking_elsewhere:
        return f"{asking_elsewhere} asking · /profile"
    return HINTS.get(runtime.state, "/help")
