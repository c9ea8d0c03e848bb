"""All that a question tells: the change of a file, how much a rule would have allowed, and no secret in any of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import cast

from msgspec.structs import replace

from agent.approvals.details import Details, Offer, encoded
from agent.approvals.paths import is_inside
from agent.approvals.shell_rules import Rules, read_rule
from agent.approvals.shell_verdict import NO_RULE, Decision, Part
from agent.approvals.verdict import Ask
from agent.call_reading import ReadCall
from agent.config.masking import Masking
from agent.tools.base import Arguments, BadArguments, FileChange, Tool, Touch, Workplace

Preview = Callable[[Arguments, Workplace], FileChange]
_MOST_PAST, _PAST_CHARS = 2_000, 2_000
_SHOWN_CHARS = 1_000_000  # of a file's text before or after a change


def full_details(
    read: ReadCall, touch: Touch, place: Workplace, ask: Ask, history: Sequence[str]
) -> tuple[Details, FileChange | None]:
    """Looks at files. Raises BadArguments where a call would change nothing of the workspace: nobody is asked then."""
    details = replace(ask.details, offers=tuple(_counted(part, place, history) for part in ask.details.offers))
    change = _change(read.tool, read.args, touch, place, is_once=details.is_once)
    if change is None or max(len(change.before), len(change.after)) > _SHOWN_CHARS:
        return details, change
    before = change.before if change.base else None  # there is no file yet
    return replace(details, before=before, after=change.after), change


def masked_details(masking: Masking, details: Details) -> str:
    """As it is stored and shown. Where a secret is in it, no rule is made of it and nothing of it is rewritten."""
    text = encoded(details)
    if masking.json_text(text) == text:
        return text
    return masking.json_text(encoded(replace(details, offers=(), may_save=False, command="")))


def _change(tool: Tool, args: Arguments, touch: Touch, place: Workplace, *, is_once: bool) -> FileChange | None:
    """What the call would make of its file. What stands in a file outside is told to nobody before the person's word."""
    preview = cast("Preview | None", getattr(tool, "preview", None))
    if preview is None:
        return None
    try:
        return preview(args, place)
    except BadArguments:
        if not is_once and all(is_inside(path, place.root) for path in touch.writes):
            raise
        return None


def _counted(offers: Iterable[Offer], place: Workplace, history: Sequence[str]) -> tuple[Offer, ...]:
    return tuple(replace(offer, covers=_covers(offer, place, history)) for offer in offers)


def _covers(offer: Offer, place: Workplace, history: Sequence[str]) -> int:
    """How many of these commands asked for nothing but what the rule would allow."""
    if offer.width in ("path", "folder", "host"):
        return 0
    rules = Rules((read_rule(Decision.ALLOW, offer.rule),))
    asked = (_asked(command, place) for command in history)
    return sum(bool(parts) and all(_fits(rules, part) for part in parts) for parts in asked)


def _fits(rules: Rules, part: Part) -> bool:
    is_for_rules = part.rule == NO_RULE and part.argv is not None
    return is_for_rules and rules.allowing(part.argv or (), is_open=part.is_open) is not None


_past: dict[
    tuple[str, Path], tuple[Part, ...]
] = {}  # judging 200 commands takes longer than a person should wait each time


def _asked(command: str, place: Workplace) -> tuple[Part, ...]:
    """What a past command would ask for here without any rule."""
    from agent.approvals.shell_judge import judge_command  # the parser of bash: a start need not pay for it

    key = (command, place.cwd)
    if key not in _past:
        if len(_past) >= _MOST_PAST:
            _past.clear()
        parts = judge_command(command, place).parts if len(command) <= _PAST_CHARS else ()
        _past[key] = tuple(part for part in parts if part.verdict is not Decision.ALLOW)
    return _past[key]
