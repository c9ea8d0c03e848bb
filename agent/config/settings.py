"""What a person sets in config.yaml: the shape, the defaults, and reading it without ever failing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from agent.config.files import NotReadable, read_text
from agent.config.problem import Problem
from session.models import ApiMode


class ModelSettings(Struct, frozen=True):
    """Which model answers. Both are empty where the choice is left to hermes; `flaw` says what was wrong in it."""

    default: str = ""
    provider: str = ""
    flaw: str = ""


class ModelEntry(Struct, frozen=True):
    """What is said about one model of a provider. `context_length` is in tokens."""

    context_length: int | None = None
    request_overrides: Mapping[str, object] = field(default_factory=dict[str, object])


class ProviderSettings(Struct, frozen=True):
    """A model server. What is empty comes from the table of known providers, where it has this name.

    `flaw` says what is wrong with where it is or which key it gets. Such a provider is refused as a whole: filling the
    gap from the table could send a key to another server than was meant.
    """

    base_url: str = ""
    key_env: str = ""
    api_mode: ApiMode = ApiMode.CHAT
    context_length: int | None = None
    extra_body: Mapping[str, object] = field(default_factory=dict[str, object])
    models: Mapping[str, ModelEntry] = field(default_factory=dict[str, ModelEntry])
    flaw: str = ""


class ApprovalSettings(Struct, frozen=True):
    """`timeout_s`: how long a question waits, 0 for as long as it takes. `arm_ms`: how long a modal ignores keys."""

    timeout_s: int = 0
    arm_ms: int = 400


class AgentSettings(Struct, frozen=True):
    """`max_turns`: requests in one turn. `stream_retries`: how often a broken stream is asked again."""

    max_turns: int = 90
    stream_retries: int = 2
    system_prompt: str = ""


class DisplaySettings(Struct, frozen=True):
    theme: str = ""


class Settings(Struct, frozen=True):
    """All settings. `file` names config.yaml as the person knows it; `unread` says why none of it could be read."""

    model: ModelSettings = ModelSettings()
    providers: Mapping[str, ProviderSettings] = field(default_factory=dict[str, ProviderSettings])
    approvals: ApprovalSettings = ApprovalSettings()
    agent: AgentSettings = AgentSettings()
    display: DisplaySettings = DisplaySettings()
    probe_local: bool = True
    file: str = "config.yaml"
    unread: str = ""


class Loaded(Struct, frozen=True):
    """Settings that hold, and what was wrong in the file."""

    settings: Settings
    problems: tuple[Problem, ...] = ()


def load_settings(path: Path, shown: str = "") -> Loaded:
    """Read config.yaml; `shown` is how a person knows the file. No content makes it raise, no file means defaults."""
    name = shown or str(path)
    try:
        text = read_text(path)
    except NotReadable as error:
        return unreadable(name, f"{error}; until then the defaults hold.")
    if text is None:
        return Loaded(Settings(file=name))
    # yaml costs tens of milliseconds, which a home without a config does not pay.
    from agent.config.settings_reader import read_settings

    return read_settings(text, name)


def unreadable(name: str, why: str, line: int | None = None) -> Loaded:
    """Defaults, because nothing of the file could be used."""
    problem = Problem(name, why, line)
    return Loaded(Settings(file=name, unread=problem.sentence), (problem,))
