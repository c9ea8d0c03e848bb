"""Settings of several sources: which one holds, and how each bad value is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.config.load import load_settings
from agent.config.settings import Loaded

PROJECT = "project.yaml"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def loaded(config: Path, project: str = "", flags: dict[str, str] | None = None, **environ: str) -> Loaded:
    return load_settings(
        config, "config.yaml", project=(PROJECT, project) if project else None, environ=environ, flags=flags
    )


def test_each_source_stands_over_the_ones_before_it(config: Path):
    held = [loaded(config).settings.agent.max_turns]
    config.write_text("agent: {max_turns: 1}\n")
    held.append(loaded(config).settings.agent.max_turns)
    project = "agent: {max_turns: 2}"
    held.append(loaded(config, project).settings.agent.max_turns)
    held.append(loaded(config, project, HERMES_AGENT_MAX_TURNS="3").settings.agent.max_turns)
    flags = {"agent.max_turns": "4"}
    held.append(loaded(config, project, flags, HERMES_AGENT_MAX_TURNS="3").settings.agent.max_turns)
    assert held == [90, 1, 2, 3, 4]


def test_mappings_are_merged_as_deep_as_they_go(config: Path):
    config.write_text("providers: {p: {extra_body: {a: {x: 1, y: 1}}, models: {m: {context_length: 5}}}}\n")
    project = "providers: {p: {extra_body: {a: {y: 2}, b: 3}}, q: {base_url: 'http://q'}}"
    providers = loaded(config, project).settings.providers
    assert list(providers) == ["p", "q"]
    assert providers["p"].extra_body == {"a": {"x": 1, "y": 2}, "b": 3}
    assert providers["p"].models["m"].context_length == 5


def test_an_empty_value_takes_nothing_away(config: Path):
    config.write_text("agent: {max_turns: 5}\n")
    result = loaded(config, "agent:\n", HERMES_AGENT_MAX_TURNS="")
    assert (result.settings.agent.max_turns, result.problems) == (5, ())


@pytest.mark.parametrize(
    ("given", "provider"),
    [
        ("b", "mine"),
        ("llama3:8b", "mine"),  # a colon alone names no provider
        ("openai:b", ""),
        ("theirs:b", ""),
        ("theirs", ""),
        ("demo", ""),
    ],
)
@pytest.mark.parametrize("form", ["model: '{}'", "model: {{default: '{}'}}"], ids=["short", "long"])
def test_a_model_keeps_the_provider_of_a_lower_source_unless_it_names_one(
    config: Path, form: str, given: str, provider: str
):
    config.write_text("model: {default: a, provider: mine}\n")
    project = f"{form.format(given)}\nproviders: {{theirs: {{base_url: 'http://theirs/v1'}}}}\n"
    result = loaded(config, project)
    assert (result.settings.model.default, result.settings.model.provider) == (given, provider)
    assert result.origins.get("model.provider") == ("user" if provider else None)


def test_a_model_and_a_provider_of_one_source_belong_together(config: Path):
    config.write_text("model: {default: 'openai:a', provider: mine}\n")
    assert loaded(config).settings.model.provider == "mine"
    flags = {"model.default": "openai:b", "model.provider": "theirs"}
    assert loaded(config, flags=flags).settings.model.provider == "theirs"


def test_C25_a_server_that_a_project_names_does_not_get_the_persons_key(config: Path):
    config.write_text("providers: {p: {base_url: 'http://good/v1', key_env: MINE, key_cmd: pass mine}}\n")
    hijacked = loaded(config, "providers: {p: {base_url: 'http://evil/v1'}}").settings.providers["p"]
    assert (hijacked.base_url, hijacked.key_env, hijacked.key_cmd) == ("http://evil/v1", "", "")
    own = loaded(config, "providers: {p: {base_url: 'http://q/v1', key_env: THEIRS}}").settings.providers["p"]
    assert (own.key_env, own.key_cmd) == ("THEIRS", "")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"project": "x: 1\nagent: {max_turns: no}"}, f"{PROJECT}, line 2: agent.max_turns takes a whole number"),
        (
            {"HERMES_AGENT_MAX_TURNS": "no"},
            "the environment: HERMES_AGENT_MAX_TURNS takes a whole number from 1 to 10000; 7 is used.",
        ),
        ({"flags": {"agent.max_turns": "no"}}, "the command line: agent.max_turns takes a whole number"),
        ({"flags": {"agent..x": "1"}}, "the command line: --set takes KEY=VALUE"),
        ({"flags": {"providers.p.extra_body": "[}"}}, "the command line: providers.p.extra_body takes valid YAML"),
        ({"project": "a: ]"}, f"{PROJECT}, line 1: this is not valid YAML"),
    ],
)
def test_a_bad_value_is_told_with_its_place_and_the_layer_below_holds(config: Path, given: dict, sentence: str):
    config.write_text("agent: {max_turns: 7}\n")
    result = loaded(config, **given)
    assert any(problem.sentence.startswith(sentence) for problem in result.problems)
    assert (result.settings.agent.max_turns, result.settings.unread) == (7, "")


def test_where_a_value_came_from_is_known(config: Path):
    config.write_text(
        "agent: {max_turns: 5, stream_retries: 1}\nproviders: {p: {models: {a.b: {context_length: 1}}}}\n"
    )
    result = loaded(config, "probe_local: false", {"display.theme": "light"}, HERMES_AGENT_MAX_TURNS="6")
    assert result.origins == {
        "agent.max_turns": "environment",
        "agent.stream_retries": "user",
        'providers.p.models."a.b".context_length': "user",
        "probe_local": "project",
        "display.theme": "flags",
    }


@pytest.mark.parametrize("value", ["Yes", "on", "TRUE"])
def test_a_yes_or_no_in_the_environment_is_understood(config: Path, value: str):
    config.write_text("probe_local: false\n")
    assert loaded(config, HERMES_PROBE_LOCAL=value).settings.probe_local is True


def test_variables_that_are_no_settings_are_not_looked_at(config: Path):
    result = loaded(config, HERMES_HOME="/x", HERMES_CALL="1", HERMES_COLOUR="red")
    assert (result.problems, result.origins) == ((), {})


def test_rules_stand_for_all_folders_or_for_one(config: Path):
    config.write_text(
        "approvals:\n  shell: {deny: [git push]}\nprojects:\n  /a: {approvals: {edit: {allow: [src/**]}}}\n"
    )
    result = loaded(config)
    assert result.settings.approvals.shell.deny == ("git push",)
    assert result.settings.projects["/a"].approvals.edit.allow == ("src/**",)
    assert result.problems == ()


def test_one_wrong_rule_takes_no_other_one_with_it(config: Path):
    config.write_text("approvals: {shell: {deny: [rm *, '', '-x', git push]}}\n")
    result = loaded(config)
    assert result.settings.approvals.shell.deny == ("rm *", "git push")
    assert "2 of 4 are left out" in result.problems[0].sentence


def test_C25_a_project_forbids_and_asks_but_never_allows_and_lifts_nothing(config: Path):
    config.write_text("approvals: {shell: {allow: [ls *], deny: [git push]}}\n")
    project = (
        "approvals: {shell: {allow: [rm *], deny: [], ask: [make *]}, edit: {allow: ['**']}}\n"
        "projects: {/: {approvals: {shell: {allow: [rm *]}}}}\n"
    )
    result = load_settings(config, project=("p.yaml", project))
    shell = result.settings.approvals.shell
    assert (shell.allow, shell.ask, shell.deny) == (("ls *",), ("make *",), ("git push",))
    assert (result.settings.approvals.edit.allow, result.settings.projects) == ((), {})
    assert sum("never those of a project" in problem.sentence for problem in result.problems) == 3


@pytest.mark.parametrize(
    ("mine", "theirs", "held"),
    [
        ("", "require", "require"),
        ("off", "auto", "auto"),
        ("auto", "require", "require"),
        ("auto", "off", "auto"),
        ("require", "auto", "require"),
        ("require", "nonsense", "require"),
        ("nonsense", "auto", "auto"),
    ],
)
def test_C25_a_project_makes_the_sandbox_only_stricter(config: Path, mine: str, theirs: str, held: str):
    config.write_text(f"terminal: {{sandbox: {mine}}}\n")
    result = loaded(config, f"terminal: {{sandbox: {theirs}}}")
    assert result.settings.terminal.sandbox == held
    assert any("stricter" in problem.sentence for problem in result.problems) == (held == mine and theirs != "nonsense")
    assert (
        loaded(config, "terminal: {sandbox: require}", HERMES_TERMINAL_SANDBOX="off").settings.terminal.sandbox == "off"
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [("pass show key", "pass show key"), ("[pass, show, key]", ("pass", "show", "key")), ("[]", ""), ("{a: 1}", "")],
)
def test_a_command_is_a_text_or_its_words(config: Path, text: str, value: object):
    config.write_text(f"providers: {{p: {{key_cmd: {text}}}}}\n")
    result = loaded(config)
    assert result.settings.providers["p"].key_cmd == value
    assert bool(result.problems) == (value == "")
