"""/rewind, /undo, /redo, /retry and /branch: back in a conversation, forth again, or another way."""

from __future__ import annotations

from collections.abc import Collection

from agent.commands.table import Command, Effect, Opened, RewindAsked, Said, TakenBack, When
from agent.hub import Hub
from agent.rewinding import Outcome, Preview, Scope, prompts
from session.errors import NothingToRetry
from session.models import Level

NOTHING_SAID = "Nothing was said in this conversation yet, so there is nothing to go back to."
SHOWN_FILES = 3  # that were not restored, by name


async def rewind(hub: Hub, session_id: str, argument: str) -> Effect:
    match argument.lower():
        case "":
            is_empty = not prompts(hub.runtime(session_id).s)
            return Said(NOTHING_SAID) if is_empty else RewindAsked(session_id)
        case "undo":
            return await redo(hub, session_id, "")
        case _:
            return Said("Write /rewind to choose where to go back to, or /rewind undo.", Level.WARNING)


async def undo(hub: Hub, session_id: str, argument: str) -> Effect:
    """The last exchange; where it changed files the person is asked what of them goes back."""
    seen = await _last(hub, session_id)
    if seen is None:
        return Said(NOTHING_SAID)
    return await _taken_back_or_asked(hub, session_id, seen, is_retry=False)


async def retry(hub: Hub, session_id: str, argument: str) -> Effect:
    seen = await _last(hub, session_id)
    if seen is None:
        raise NothingToRetry
    return await _taken_back_or_asked(hub, session_id, seen, is_retry=True)


async def redo(hub: Hub, session_id: str, argument: str) -> Effect:
    outcome = await hub.undo_rewind(session_id)
    parts = [*_counted(outcome.rows, "message"), *_counted(len(outcome.done), "file")]
    is_one = outcome.rows + len(outcome.done) == 1
    said = f"{' and '.join(parts)} {'is' if is_one else 'are'} back." if parts else "Nothing had to be brought back."
    rest = " /redo brings back the rest." if outcome.is_stopped else ""
    return Said(f"{said}{_trouble(outcome)}{rest}", _level(outcome))


async def branch(hub: Hub, session_id: str, argument: str) -> Effect:
    return Opened(await hub.branch(session_id, argument))


async def carry_out(
    hub: Hub, session_id: str, seen: Preview, scope: Scope, also: Collection[str] = (), *, is_retry: bool = False
) -> Effect:
    """Go back as the person was shown; then the prompt stands in the draft again, or is sent again."""
    outcome = await hub.rewind(session_id, seen, scope, also)
    is_sent = is_retry and not outcome.is_stopped
    if is_sent:
        # What waited in line may run by now; images of a row can't wait, so that their prompt is a draft again.
        is_sent = not (seen.prompt.parts and hub.runtime(session_id).is_busy)
    if is_sent:
        hub.submit(session_id, seen.text, seen.prompt.parts)
    said = _told(outcome, scope, is_sent=is_sent)
    return TakenBack(session_id, "" if is_sent or scope is Scope.FILES else seen.text, said, _level(outcome))


async def _last(hub: Hub, session_id: str) -> Preview | None:
    latest = prompts(hub.runtime(session_id).s)
    return await hub.rewind_preview(session_id, latest[0].id) if latest else None


async def _taken_back_or_asked(hub: Hub, session_id: str, seen: Preview, *, is_retry: bool) -> Effect:
    if seen.plan.files or seen.plan.is_cut or seen.problem:
        return RewindAsked(session_id, seen, is_retry)
    return await carry_out(hub, session_id, seen, Scope.CONVERSATION, is_retry=is_retry)


def _told(outcome: Outcome, scope: Scope, *, is_sent: bool) -> str:
    rows = _counted(outcome.rows, "message")
    files = _counted(len(outcome.done), "file") if scope is not Scope.CONVERSATION else []
    parts = [*(f"{count} taken back" for count in rows), *(f"{count} restored" for count in files)]
    said = f"{' and '.join(parts) or 'Nothing was changed'}.{_trouble(outcome)}"
    if not parts:
        return said
    return f"{said} Sent again." if is_sent else f"{said} /redo undoes that."


def _counted(number: int, noun: str) -> list[str]:
    return [f"{number:,} {noun}{'' if number == 1 else 's'}"] if number else []


def _trouble(outcome: Outcome) -> str:
    """What was not restored, and why."""
    if outcome.problem:
        return f" {outcome.problem}"
    if not outcome.failed:
        return ""
    from agent.checkpoints.plan import STOPPED

    failed = [one for one in outcome.failed if one.why != STOPPED]
    number = len(outcome.failed) - len(failed)
    stopped = f" Stopped: {number:,} {'file is' if number == 1 else 'files are'} left as before." if number else ""
    named = "; ".join(f"{one.path}: {one.why}" for one in failed[:SHOWN_FILES])
    more = f"; and {len(failed) - SHOWN_FILES:,} more" if len(failed) > SHOWN_FILES else ""
    return stopped + (f" Left as it is: {named}{more}." if failed else "")


def _level(outcome: Outcome) -> Level:
    return Level.WARNING if outcome.problem or outcome.failed else Level.INFO


REWIND_COMMANDS = (
    Command(
        "rewind",
        "[undo]",
        "goes back to one of your messages, with the files as they were then",
        When.IDLE,
        rewind,
    ),
    Command("undo", "", "takes the last exchange back; your message stands in the draft", When.IDLE, undo),
    Command("redo", "", "brings back what /undo or /rewind took, files too", When.IDLE, redo),
    Command("retry", "", "takes the last exchange back and sends your message again", When.IDLE, retry),
    Command(
        "branch",
        "[title]",
        "goes on in a new session with all that was said; this one stays as it is",
        When.IDLE,
        branch,
        aliases=("fork",),
    ),
)
