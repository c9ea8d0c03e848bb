"""From the text of config.yaml to `Settings`: each part that is wrong becomes a problem, the rest holds."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from yaml.nodes import MappingNode

from agent.config.problem import Problem
from agent.config.section import Section, check_name
from agent.config.settings import (
    AgentSettings,
    ApprovalSettings,
    DisplaySettings,
    Loaded,
    ModelEntry,
    ModelSettings,
    ProviderSettings,
    Settings,
    unreadable,
)
from agent.config.yaml_tree import NotYaml, is_null, line_of, parse, text_of
from session.models import ApiMode

API_MODES = {mode.value: mode for mode in (ApiMode.CHAT, ApiMode.RESPONSES)}
KEY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
PROVIDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RESERVED = ("demo",)
DAY_S = 86_400


def read_settings(text: str, name: str) -> Loaded:
    """The settings that a text holds. Never raises for what the text says."""
    try:
        root = parse(text)
    except NotYaml as error:
        why = f"this is not valid YAML ({error.why}); until it is corrected the defaults hold."
        return unreadable(name, why, error.line)
    if root is None or is_null(root):
        return Loaded(Settings(file=name))
    if not isinstance(root, MappingNode):
        return unreadable(name, "the file takes `name: value` lines; until then the defaults hold.", line_of(root))
    problems: list[Problem] = []
    settings = _settings(Section(root, "", name, problems))
    return Loaded(settings, tuple(sorted(problems, key=lambda problem: problem.line or 0)))


def _settings(top: Section) -> Settings:
    settings = Settings(
        model=_model(top),
        providers={
            name: _provider(section) for name, section in top.sections("providers", _check_provider_name).items()
        },
        approvals=_approvals(top.section("approvals")),
        agent=_agent(top.section("agent")),
        display=_display(top.section("display")),
        probe_local=top.yes_no("probe_local", True),
        file=top.file,
    )
    top.finish()
    return settings


def _model(top: Section) -> ModelSettings:
    """`model: some-id` says the same as `model: {default: some-id}`."""
    before = len(top.problems)
    node = top.peek("model")
    if node is not None and text_of(node) is not None:
        default = top.text("model", check_name)
        return ModelSettings(default=default, flaw=top.flaw_since(before))
    section = top.section("model")
    default, provider = section.text("default", check_name), section.text("provider", check_name)
    settings = ModelSettings(default, provider, section.flaw_since(before))
    section.finish()
    return settings


def _approvals(section: Section) -> ApprovalSettings:
    settings = ApprovalSettings(
        timeout_s=section.whole("timeout", 0, 0, DAY_S),
        arm_ms=section.whole("arm_ms", 400, 0, 10_000),
    )
    section.finish()
    return settings


def _agent(section: Section) -> AgentSettings:
    settings = AgentSettings(
        max_turns=section.whole("max_turns", 90, 1, 10_000),
        stream_retries=section.whole("stream_retries", 2, 0, 10),
        system_prompt=section.text("system_prompt"),
    )
    section.finish()
    return settings


def _display(section: Section) -> DisplaySettings:
    settings = DisplaySettings(theme=section.text("theme", check_name))
    section.finish()
    return settings


def _provider(section: Section) -> ProviderSettings:
    before = len(section.problems)
    base_url = section.text("base_url", _check_url)
    key_env = section.text("key_env", _check_key_env)
    api_mode = section.choice("api_mode", API_MODES, ApiMode.CHAT)
    flaw = section.flaw_since(before)
    settings = ProviderSettings(
        base_url=base_url.rstrip("/"),
        key_env=key_env,
        api_mode=api_mode,
        context_length=section.tokens("context_length"),
        extra_body=section.body("extra_body"),
        models={model: _entry(entry) for model, entry in section.sections("models").items()},
        flaw=flaw,
    )
    section.finish()
    return settings


def _entry(section: Section) -> ModelEntry:
    entry = ModelEntry(section.tokens("context_length"), section.body("request_overrides"))
    section.finish()
    return entry


def _check_url(url: str) -> str:
    """What is wrong with a server's address, "" for nothing."""
    allowed = "takes an address such as http://127.0.0.1:8000/v1"
    if not url.isprintable() or " " in url:
        return allowed
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return allowed
    if parts.username is not None or parts.password is not None:
        return "takes an address without a name or password in it; put the key in .env and its name in key_env"
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        return allowed
    return ""


def _check_provider_name(name: str) -> str:
    if name.lower() in RESERVED:
        return f"takes other names than {name}, which is built in"
    return "" if PROVIDER_NAME.fullmatch(name) else "takes names of letters, digits, dots, dashes and underscores"


def _check_key_env(name: str) -> str:
    if KEY_NAME.fullmatch(name):
        return ""
    return "takes the NAME of a variable, such as OPENAI_API_KEY, never the key itself; the key belongs in .env"
