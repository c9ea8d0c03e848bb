"""What the status row tells of the session that is shown."""

from __future__ import annotations

from pathlib import Path

from agent.approvals.shell_verdict import Mode
from agent.config.profile_name import DEFAULT
from agent.hub import Hub
from agent.runtime import Runtime
from agent.session_run import Live
from session.status import Status as Standing
from tui.hints import Keymap, filled
from tui.widgets.status_bar import Status
from tui.widgets.waiting import Waits

HINTS = {Live.WORKING: "{main.interrupt} interrupts", Live.ASKING: "{approval.interrupt} interrupts"}


def status_of(hub: Hub, runtime: Runtime, waits: Waits, now_s: float, asking_elsewhere: int, keymap: Keymap) -> Status:
    """`now_s` is on the clock of `Runtime.working_since`; `asking_elsewhere` counts sessions of other profiles."""
    since_s = runtime.working_since
    return Status(
        model=_model(runtime),
        state=runtime.state,
        context=hub.context(runtime.id),
        folder=_place(hub, runtime),
        working_s=int(now_s - since_s) if since_s is not None else 0,
        compacting_s=waits.compacting_s(runtime.id),
        restoring=waits.restoring(runtime.id),
        standing=runtime.elsewhere.standing if runtime.elsewhere is not None else Standing.COMPLETE,
        waiting=_waiting(runtime, waits),
        queued=len(runtime.queue),
        unstored=runtime.s.backlog.said if runtime.s.is_behind else None,
        hint=filled(_hint(hub, runtime, asking_elsewhere), keymap),
        cancels=filled("{main.interrupt} cancels", keymap),
        mode="" if runtime.mode is Mode.ASK else runtime.mode.value,
        personality=runtime.s.session.personality,
    )


def _waiting(runtime: Runtime, waits: Waits) -> str:
    """For the model, or for another process, which one can answer or wait for."""
    if (found := runtime.elsewhere) is None or runtime.is_busy:
        return waits.told(runtime.id)
    return f"asked in {found.process}" if found.standing is Standing.WAITING else found.process


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
        return f"{asking} asking · {{main.next_pending}}"
    if asking_elsewhere:
        return f"{asking_elsewhere} asking · /profile"
    return HINTS.get(runtime.state, "/help")
