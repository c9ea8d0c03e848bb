"""What a person sets in config.yaml: the one table of settings.

A field's type, range, default and description are the setting: the list of keys, what `hermes config` shows and takes,
docs/settings.md and the sentences about wrong values all come from here (agent/config/table.py reads it). A field
without a description is no setting, but a note that reading leaves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct, field

from agent.config.problem import Problem
from session.models import ApiMode

SETTING_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
ENVIRONMENT_PREFIX = "HERMES_"


class ModelSettings(Struct, frozen=True):
    """Which model answers. Both are empty where the choice is left to hermes; `flaw` says what was wrong in it."""

    default: Annotated[
        str, Meta(description="The model of a new session: an id, or provider:id.", extra={"takes": "name"})
    ] = ""
    provider: Annotated[
        str, Meta(description="Where that model is: a name under providers, or a known one.", extra={"takes": "name"})
    ] = ""
    flaw: str = ""


class ModelEntry(Struct, frozen=True):
    """What is said about one model of a provider."""

    context_length: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000_000)] | None, Meta(description="Its context window in tokens.")
    ] = None
    request_overrides: Annotated[
        Mapping[str, object], Meta(description="Fields put over those of each request to this model.")
    ] = field(default_factory=dict[str, object])


class ProviderSettings(Struct, frozen=True):
    """A model server. What is empty comes from the table of known providers, where it has this name.

    `flaw` says what is wrong with where it is or which key it gets. Such a provider is refused as a whole: filling the
    gap from the table could send a key to another server than was meant.
    """

    base_url: Annotated[str, Meta(description="The address of the server.", extra={"takes": "url"})] = ""
    key_env: Annotated[
        str, Meta(description="The variable in .env or the environment that holds its key.", extra={"takes": "key_env"})
    ] = ""
    key_cmd: Annotated[
        str | tuple[str, ...], Meta(description="A command that prints its key, as one text or a list of words.")
    ] = ""
    key_cmd_ttl_s: Annotated[
        int, Meta(ge=0, le=86_400, description="Seconds for which a key from key_cmd is kept.")
    ] = field(default=300, name="key_cmd_ttl")
    api_mode: Annotated[
        ApiMode,
        Meta(
            description="How the server is spoken to.",
            extra={"choices": (ApiMode.CHAT, ApiMode.RESPONSES)},
        ),
    ] = ApiMode.CHAT
    context_length: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000_000)] | None,
        Meta(description="The context window in tokens of those of its models that name none."),
    ] = None
    extra_body: Annotated[Mapping[str, object], Meta(description="Fields added to each request.")] = field(
        default_factory=dict[str, object]
    )
    models: Annotated[Mapping[str, ModelEntry], Meta(description="Its models.", extra={"takes": "name"})] = field(
        default_factory=dict[str, ModelEntry]
    )
    flaw: str = ""


class RuleSettings(Struct, frozen=True):
    """Patterns by what is to happen to the calls that match them."""

    allow: Annotated[tuple[str, ...], Meta(description="What runs without a question.")] = ()
    ask: Annotated[tuple[str, ...], Meta(description="What is asked about.")] = ()
    deny: Annotated[tuple[str, ...], Meta(description="What never runs.")] = ()


class ApprovalSettings(Struct, frozen=True):
    """When a call is asked about, and for how long."""

    timeout_s: Annotated[
        int, Meta(ge=0, le=86_400, description="Seconds that a question waits; 0 is as long as it takes.")
    ] = field(default=0, name="timeout")
    arm_ms: Annotated[
        int, Meta(ge=0, le=10_000, description="Milliseconds for which a question that just appeared ignores keys.")
    ] = 400
    shell: Annotated[RuleSettings, Meta(description="Rules for commands.", extra={"is_unused": True})] = RuleSettings()
    edit: Annotated[RuleSettings, Meta(description="Rules for changes of files.", extra={"is_unused": True})] = (
        RuleSettings()
    )


class AgentSettings(Struct, frozen=True):
    """How a turn runs."""

    max_turns: Annotated[int, Meta(ge=1, le=10_000, description="Requests to the model in one turn.")] = 90
    stream_retries: Annotated[
        int, Meta(ge=0, le=10, description="How often an answer that broke off is asked for again.")
    ] = 2
    system_prompt: Annotated[str, Meta(description="Text in the place of the built-in system prompt.")] = ""


class TerminalSettings(Struct, frozen=True):
    """What the commands of tools get."""

    env_passthrough: Annotated[
        tuple[str, ...],
        Meta(
            description="Variables that commands get although they hold a key or stand in .env.",
            extra={"takes": "variable"},
        ),
    ] = ()


class DisplaySettings(Struct, frozen=True):
    """What the screen looks like. Changes in the file hold at once."""

    theme: Annotated[str, Meta(description="The colours: dark or light.", extra={"takes": "name"})] = ""


class Settings(Struct, frozen=True):
    """All settings. `file` names config.yaml as the person knows it; `unread` says why none of it could be read."""

    model: Annotated[ModelSettings, Meta(description="Which model answers.")] = ModelSettings()
    providers: Annotated[
        Mapping[str, ProviderSettings], Meta(description="Model servers.", extra={"takes": "provider"})
    ] = field(default_factory=dict[str, ProviderSettings])
    approvals: Annotated[ApprovalSettings, Meta(description="Questions before something runs.")] = ApprovalSettings()
    agent: Annotated[AgentSettings, Meta(description="How a turn runs.")] = AgentSettings()
    terminal: Annotated[TerminalSettings, Meta(description="What commands get.")] = TerminalSettings()
    display: Annotated[DisplaySettings, Meta(description="What the screen looks like.")] = DisplaySettings()
    projects: Annotated[
        Mapping[str, object], Meta(description="What holds in one folder only.", extra={"is_unused": True})
    ] = field(default_factory=dict[str, object])
    probe_local: Annotated[bool, Meta(description="Whether model servers on this machine are looked for.")] = True
    file: str = "config.yaml"
    unread: str = ""


class Loaded(Struct, frozen=True):
    """Settings that hold, what was wrong in the files, and where each value that was given came from.

    `origins` names the layer of a full key (`agent.max_turns`): user, project, environment or flags. What is not in it
    is a default.
    """

    settings: Settings
    problems: tuple[Problem, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict[str, str])


class Sources(Struct, frozen=True):
    """Everything that settings are read from. The first of each pair of a file is how a person knows it.

    `text` is None where there is no user file; `unreadable` says why there is one whose text can't be had.
    """

    file: str
    text: str | None = None
    unreadable: str = ""
    project: tuple[str, str] | None = None
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    flags: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.unreadable or self.project or self.environ or self.flags)


def is_setting_name(key: str) -> bool:
    """Whether a key has the form of a variable: such a one always belongs to .env, never to config.yaml."""
    return SETTING_NAME.fullmatch(key) is not None
