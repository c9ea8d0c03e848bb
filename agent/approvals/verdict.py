"""What a call was judged to be: it runs, a person decides, or it never runs."""

from __future__ import annotations

from msgspec import Struct

from agent.approvals.details import NO_DETAILS, Details
from session.models import Approval


class Allow(Struct, frozen=True):
    """The call may run without a word. `rule` is what allows it, "" for what only reads or changes nothing that counts.

    `approval` is by whose earlier word. `changes`: it may change something, so that it must never run twice.
    """

    rule: str = ""
    approval: Approval = Approval.NOT_ASKED
    changes: bool = False


class Ask(Struct, frozen=True):
    """A person decides. `why` completes "Asked because it ..."."""

    why: str
    details: Details = NO_DETAILS


class Refuse(Struct, frozen=True):
    """It does not run, whoever asks. `why` is a clause that completes "denied, because ..."."""

    why: str
    rule: str


Verdict = Allow | Ask | Refuse
