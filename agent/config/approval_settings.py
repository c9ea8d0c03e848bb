"""The settings of what is asked about: sections of agent/config/settings.py.

The lists of rules are added up over all sources. A file of a project may forbid and ask, but never allow: what runs
unasked is the person's own word.
"""

# The annotations are evaluated with the rest of the module, for the reason given in agent/config/settings.py.
from typing import Annotated

from msgspec import Meta, Struct, field

_JOINED = {"is_joined": True}
_MINE = {"is_joined": True, "is_personal": True}


class ShellRules(Struct, frozen=True):
    """Rules for commands, as `Rule` in agent/approvals/shell_rules.py writes them."""

    allow: Annotated[
        tuple[str, ...], Meta(description="Commands that run unasked.", extra={"takes": "command_rule", **_MINE})
    ] = ()
    ask: Annotated[
        tuple[str, ...],
        Meta(description="Commands that are asked about all the same.", extra={"takes": "command_rule", **_JOINED}),
    ] = ()
    deny: Annotated[
        tuple[str, ...], Meta(description="Commands that never run.", extra={"takes": "command_rule", **_JOINED})
    ] = ()


class EditRules(Struct, frozen=True):
    """Rules for files, by their paths in the workspace."""

    allow: Annotated[
        tuple[str, ...], Meta(description="Files that are changed unasked.", extra={"takes": "file_rule", **_MINE})
    ] = ()
    ask: Annotated[
        tuple[str, ...],
        Meta(description="Files that are asked about all the same.", extra={"takes": "file_rule", **_JOINED}),
    ] = ()
    deny: Annotated[
        tuple[str, ...], Meta(description="Files that are never changed.", extra={"takes": "file_rule", **_JOINED})
    ] = ()


class HostRules(Struct, frozen=True):
    """Rules for what web_fetch asks."""

    allow: Annotated[
        tuple[str, ...], Meta(description="Hosts that are fetched from unasked.", extra={"takes": "host_rule", **_MINE})
    ] = ()
    ask: Annotated[
        tuple[str, ...],
        Meta(description="Hosts that are asked about all the same.", extra={"takes": "host_rule", **_JOINED}),
    ] = ()
    deny: Annotated[
        tuple[str, ...], Meta(description="Hosts that are never fetched from.", extra={"takes": "host_rule", **_JOINED})
    ] = ()


class RuleSettings(Struct, frozen=True):
    """What a person settled beforehand. `shell`, `edit` and `web` are the kinds of rules."""

    shell: Annotated[ShellRules, Meta(description="Rules for commands.")] = ShellRules()
    edit: Annotated[EditRules, Meta(description="Rules for changes of files.")] = EditRules()
    web: Annotated[HostRules, Meta(description="Rules for what is fetched.")] = HostRules()


class ApprovalSettings(RuleSettings, frozen=True):
    """When a call is asked about, and for how long."""

    timeout_s: Annotated[
        int, Meta(ge=0, le=86_400, description="Seconds that a question waits; 0 is as long as it takes.")
    ] = field(default=0, name="timeout")
    arm_ms: Annotated[
        int, Meta(ge=0, le=10_000, description="Milliseconds for which a question that just appeared ignores keys.")
    ] = 400


class ProjectSettings(Struct, frozen=True):
    """What holds in one folder only, beside all else."""

    approvals: Annotated[RuleSettings, Meta(description="What a person settled for this folder.")] = RuleSettings()
