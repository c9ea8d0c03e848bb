"""Whether a call may run unasked: the one authority on it.

From the strictest: what never runs (the floor, files of the system), what a rule forbids, what plan mode refuses, files
that are protected, what a rule asks about, what yolo, a rule or accept-edits allows, and what only reads the workspace.
"""

from __future__ import annotations

from agent.approvals.details import Details, Offer
from agent.approvals.file_policy import PLAN, judge_files
from agent.approvals.shell_verdict import Decision, Mode
from agent.approvals.standing import NOTHING_HELD, Held
from agent.approvals.verdict import Allow, Ask, Refuse, Verdict
from agent.tools.base import Touch, Workplace

_FILES = frozenset({"read_file", "search_files", "list_files", "write_file", "patch"})
_TOUCH_NOTHING = frozenset({"todo", "process", "session_search"})
_LOOSE = (Mode.YOLO, Mode.ACCEPT_EDITS)


def judge(tool_name: str, touch: Touch, place: Workplace, held: Held = NOTHING_HELD, mode: Mode = Mode.ASK) -> Verdict:
    """Looks at files, so not for the loop. A tool that nobody gave a rule asks each time."""
    if mode in _LOOSE and not held.is_certain:
        mode = Mode.ASK  # while the settings can't be read, nobody knows what is forbidden
    if tool_name in _TOUCH_NOTHING and touch == Touch():
        return Allow()
    if tool_name == "terminal" and len(touch.runs) == 1 and not touch.writes:
        from agent.approvals.command_policy import judge_shell  # the parser of bash: a start need not pay for it

        return judge_shell(touch, place, held, mode)
    if tool_name in _FILES and not (touch.runs or touch.hosts):
        return judge_files(touch, place, held, mode)
    if tool_name == "web_fetch" and len(touch.hosts) == 1 and touch == Touch(hosts=touch.hosts):
        return _judge_host(touch.hosts[0], held, mode)
    return _judge_unknown(tool_name, mode)


def _judge_host(host: str, held: Held, mode: Mode) -> Verdict:
    if rule := held.for_host(Decision.DENY, host):
        return Refuse(f"the rule “{rule}” forbids it", str(rule))
    if mode is Mode.YOLO:
        return Allow(Mode.YOLO)
    details = Details(hosts=(host,), offers=((Offer(host, "host"),),), may_save=True)
    if rule := held.for_host(Decision.ASK, host):
        return Ask(f"fetches from {host}, for which the rule “{rule}” stands", Details(hosts=(host,)))
    if rule := held.for_host(Decision.ALLOW, host):
        return Allow(str(rule), rule.approval)
    return Ask(f"fetches from {host}", details)


def _judge_unknown(tool_name: str, mode: Mode) -> Verdict:
    match mode:
        case Mode.PLAN:
            return Refuse(f"{PLAN}, and {tool_name} is a tool without a rule", "plan mode")
        case Mode.YOLO:
            return Allow(Mode.YOLO, changes=True)
        case _:
            return Ask(f"uses {tool_name}, a tool without a rule")
