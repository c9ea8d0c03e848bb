"""What the sandbox makes of a verdict: it lowers nothing, a way out of it is asked about, and a question says where."""

from __future__ import annotations

from msgspec.structs import replace

from agent.approvals.details import Details
from agent.approvals.verdict import Allow, Ask, Refuse
from agent.config.terminal_settings import Sandboxing
from agent.tools.base import Touch, Workplace
from agent.tools.sandbox import why_not

_RULE = "terminal.sandbox"


def judge_whereabouts(found: Allow | Ask, touch: Touch, place: Workplace, details: Details) -> Allow | Ask | Refuse:
    """`details` are what a question about the command tells. Blocks."""
    why = why_not(place)
    if why and place.sandbox.wanted is Sandboxing.REQUIRE:
        return Refuse(f"the setting {_RULE} requires a sandbox, and {why}", _RULE)
    if touch.is_outside:
        return _asked(found, touch, place, details)
    if isinstance(found, Allow):
        return found
    return replace(found, why=f"{found.why}, {f'outside of the sandbox, since {why}' if why else 'in the sandbox'}")


def _asked(found: Allow | Ask, touch: Touch, place: Workplace, details: Details) -> Ask:
    """Each time and in every mode, yolo too: the wall is the person's, and a model never takes it down by itself."""
    whys = [found.why] if isinstance(found, Ask) else []
    whys.append("leaves the sandbox, with the network and all your files in reach")
    if failure := place.sandbox.failure(touch.runs[0]):
        whys.append(f"failed inside with “{failure}”")
    return Ask(", ".join(whys), replace(details, offers=(), may_save=False, is_once=True))
