"""What a person settled beforehand, as it holds for one session: for commands, for changes of files, for hosts."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from agent.approvals.edit_globs import covers
from agent.approvals.shell_rules import BadRule, Rule, Rules, read_rule
from agent.approvals.shell_verdict import Decision
from agent.config.approval_settings import RuleSettings
from agent.config.settings import Settings
from session.models import Approval


class Kind(StrEnum):
    """What a rule is about, by its name in the settings."""

    SHELL = "shell"
    EDIT = "edit"
    WEB = "web"


class Source(StrEnum):
    """Where a rule stands, and so how long and for whom it holds."""

    SESSION = "session"
    PROJECT = "project"
    EVERYWHERE = "everywhere"


class Standing(Struct, frozen=True):
    """One rule, as it is written in the settings."""

    kind: Kind
    decision: Decision
    text: str
    source: Source

    def __str__(self) -> str:
        """As it is named where it decided something: `allow git push *`, `deny src/**`."""
        return f"{self.decision} {self.text}"

    @property
    def approval(self) -> Approval:
        """By whose word a call runs that this rule allows."""
        return Approval.ALLOWED_SESSION if self.source is Source.SESSION else Approval.ALLOWED_ALWAYS


class Held(Struct, frozen=True):
    """All that holds in one session. `written` are the files that it wrote itself, as far as that is known; `since` is
    when it began: whatever was changed later may be its work, too.

    `is_certain` is False while the settings can't be read: then nobody knows what is forbidden.
    """

    standing: tuple[Standing, ...] = ()
    shell: Rules = Rules()
    is_certain: bool = True
    written: frozenset[Path] = frozenset()
    since: float = math.inf

    def for_file(self, decision: Decision, path: Path, root: Path) -> Standing | None:
        return next((one for one in self.of(Kind.EDIT, decision) if covers(one.text, path, root)), None)

    def for_host(self, decision: Decision, host: str) -> Standing | None:
        return next((one for one in self.of(Kind.WEB, decision) if is_host(one.text, host)), None)

    def for_command(self, rule: str) -> Standing | None:
        """The rule for commands that a part of a verdict names."""
        return next((one for one in self.standing if one.kind is Kind.SHELL and named(one) == rule), None)

    def of(self, kind: Kind, decision: Decision) -> Iterator[Standing]:
        return (one for one in self.standing if one.kind is kind and one.decision is decision)


NOTHING_HELD = Held()


def held(standing: Iterable[Standing], *, is_certain: bool = True, written: frozenset[Path] = frozenset()) -> Held:
    every = tuple(dict.fromkeys(standing))
    rules = tuple(rule for one in every if one.kind is Kind.SHELL and (rule := rule_of(one)) is not None)
    return Held(every, Rules(rules), is_certain, written)


def standing_of(settings: Settings, root: Path) -> list[Standing]:
    """What the settings say for a workspace."""
    found = [*_of(settings.approvals, Source.EVERYWHERE)]
    real = os.path.realpath(root)
    for folder, project in settings.projects.items():
        if os.path.realpath(folder) == real:
            found += _of(project.approvals, Source.PROJECT)
    return found


def rule_of(one: Standing) -> Rule | None:
    try:
        return read_rule(one.decision, one.text, one.source)
    except BadRule:
        return None


def named(one: Standing) -> str:
    """As a verdict names it: in the words of the rule, however the settings quote them."""
    rule = rule_of(one)
    return f"{one.decision} {rule}" if rule is not None else ""


def is_host(pattern: str, host: str) -> bool:
    """`*.python.org` is every host below that, and not python.org itself."""
    pattern, host = pattern.lower(), host.lower()
    return host.endswith(pattern[1:]) and host != pattern[2:] if pattern.startswith("*.") else host == pattern


def _of(rules: RuleSettings, source: Source) -> Iterator[Standing]:
    for kind, section in ((Kind.SHELL, rules.shell), (Kind.EDIT, rules.edit), (Kind.WEB, rules.web)):
        for decision, texts in (
            (Decision.ALLOW, section.allow),
            (Decision.ASK, section.ask),
            (Decision.DENY, section.deny),
        ):
            yield from (Standing(kind, decision, text, source) for text in texts)
