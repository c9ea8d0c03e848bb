"""`hermes config`: what is set, where it came from, and changing it without opening a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from agent.config.dotenv_file import read_names, set_name, unset_name
from agent.config.home import Home, find_home, launch_home
from agent.config.load import load_settings
from agent.config.masking import Masking
from agent.config.problem import Problem
from agent.config.settings import Loaded, Settings, is_setting_name
from agent.config.trust import Trust
from agent.profile import PROJECT_CONFIG
from agent.providers.keys import key_commands, key_names
from agent.workspace import find_workspace
from session.errors import UserError
from tui.cli.console import answer, data, remark
from tui.cli.log_file import masking_unopened
from tui.cli.options import ConfigOptions, folder

if TYPE_CHECKING:
    from agent.config.values import Shown

FAILED = 1


class NoKey(UserError):
    """What was typed has not the form of a key."""

    sentence = (
        "{key} is no key. A key has its parts between dots, such as agent.max_turns; a part with a dot in it stands in "
        'quotes: providers.here.models."gpt-4.1".context_length'
    )


class NotThere(UserError):
    """Nothing has this key."""

    sentence = "{key} is not set, and is no setting of this version. `hermes config list` shows those there are."


class NotInEnv(UserError):
    """No .env gives this variable a value."""

    sentence = "{key} is not set in {file}.{hint}"


class SecretInConfig(UserError):
    """The value for config.yaml, which is shown and shared, is one of the keys."""

    sentence = (
        "This holds the value of {name}, and keys belong in {file} only. Name it in key_env. Nothing was changed."
    )


def run_config(options: ConfigOptions, environ: Mapping[str, str]) -> int:
    """Returns the exit code. With --json one object or array is printed. Raises UserError."""
    config = _Config(options, find_home(environ, options.profile), environ)
    match options.verb:
        case "get":
            return config.get(options.key)
        case "set":
            return config.set(options.key, options.value)
        case "unset":
            return config.unset(options.key)
        case "path":
            return config.path()
        case "edit":
            from tui.cli.config_edit import edit_config

            return edit_config(config.home, config.file, config.environ, config.tell)
        case "check":
            return config.check()
        case _:
            return config.list()


class _Config(Struct, frozen=True):
    options: ConfigOptions
    home: Home
    environ: Mapping[str, str]

    @property
    def file(self) -> str:
        return f"{self.home.shown}/{self.home.config.name}"

    @property
    def env_file(self) -> str:
        return f"{self.home.shown}/{self.home.env.name}"

    def get(self, key: str) -> int:
        if is_setting_name(key):
            return self._get_variable(key)
        keys, loaded = _keys(key), self._loaded()
        found = self._found(loaded, keys)
        if not found:
            return self._get_unknown(key, keys, loaded)
        if self.options.as_json:
            records = [to_builtins(item) for item in found]
            data(json.dumps(records[0] if found[0].key == key else records))
        elif found[0].key == key:
            answer(_text(found[0].value))
        else:
            answer("\n".join(f"{item.key} = {_text(item.value)}" for item in found))
        return 0

    def set(self, key: str, value: str) -> int:
        from agent.config.config_file import set_setting

        if is_setting_name(key):
            self.home.create()
            set_name(self.home.env, key, value, self.env_file)
            stale = self._drop_stale(key)
            return self.tell(
                {"key": key, "file": str(self.home.env), "dropped_from_config": stale},
                f"Saved {key} in {self.env_file}.",
            )
        keys = _keys(key)
        self._refuse_secret(key, value)
        self.home.create()
        remarks = set_setting(self.home.config, keys, value, self.file)
        hints = [problem.text.replace(" and is ignored", " yet, but is saved") for problem in remarks]
        return self.tell(
            {"key": key, "file": str(self.home.config), "remarks": hints},
            " ".join([f"Saved {key} in {self.file}.", *hints]),
        )

    def unset(self, key: str) -> int:
        from agent.config.config_file import unset_setting

        if is_setting_name(key):
            was_there = unset_name(self.home.env, key, self.env_file)
            was_there = self._drop_stale(key) or was_there
        else:
            was_there = unset_setting(self.home.config, _keys(key), self.file)
        said = f"{key} is no longer set." if was_there else f"{key} was not set."
        return self.tell({"key": key, "was_set": was_there}, said)

    def list(self) -> int:
        loaded = self._loaded()
        found = self._found(loaded)
        if self.options.as_json:
            data(json.dumps([to_builtins(item) for item in found]))
        else:
            answer("\n".join(f"{item.key} = {_text(item.value)}  ({item.layer})" for item in found))
            self._remark(self._told(loaded, loaded.problems))
        return 0

    def path(self) -> int:
        record = {"config": str(self.home.config), "env": str(self.home.env)}
        if self.options.as_json:
            data(json.dumps(record))
        else:
            answer(record["config"])
        return 0

    def check(self) -> int:
        loaded = self._loaded()
        shared = key_commands(loaded.settings)[1]
        env = read_names(self.home.env, self.env_file)[1]
        problems = self._told(loaded, [*loaded.problems, *shared, *env, *self._of_the_screen(loaded.settings)])
        is_wrong = any(not problem.is_remark for problem in problems)
        if self.options.as_json:
            data(json.dumps({"ok": not is_wrong, "problems": [to_builtins(problem) for problem in problems]}))
        elif problems:
            answer("\n".join(problem.sentence for problem in problems))
        else:
            answer(f"Nothing is wrong in {self.file} and {self.env_file}.")
        return FAILED if is_wrong else 0

    def tell(self, record: Mapping[str, object], said: str) -> int:
        if self.options.as_json:
            data(json.dumps(record))
        else:
            answer(said)
        return 0

    # --- inside

    def _of_the_screen(self, settings: Settings) -> list[Problem]:
        """What is wrong with keys and a theme, which only the screen knows."""
        from tui.screen_problems import screen_problems

        return screen_problems(settings, self.home, self.file)

    def _loaded(self) -> Loaded:
        return load_settings(self.home.config, self.file, project=self._project(), environ=self.environ)

    def _refuse_secret(self, key: str, value: str) -> None:
        masking = self._masking(self._loaded())
        for text in (key, value):
            if (masked := masking.text(text)) != text:
                name = next(name for name in sorted(masking.names) if f"[{name}]" in masked)
                raise SecretInConfig(name=name, file=self.env_file)

    def _masking(self, loaded: Loaded) -> Masking:
        """A key_cmd, an address or a setting we don't know may hold one of the keys."""
        return masking_unopened(self.home, self.environ, key_names(loaded.settings))

    def _found(self, loaded: Loaded, under: tuple[str, ...] = ()) -> list[Shown]:
        from agent.config.values import shown

        masking = self._masking(loaded)
        found = shown(loaded, under)
        return [replace(item, key=masking.text(item.key), value=masking.deep(item.value)) for item in found]

    def _told(self, loaded: Loaded, problems: Iterable[Problem]) -> list[Problem]:
        masking = self._masking(loaded)
        return [replace(one, text=masking.text(one.text), key=masking.text(one.key)) for one in problems]

    def _project(self) -> tuple[str, str] | None:
        root = find_workspace(folder(""))
        text = Trust.of(launch_home(self.environ)).trusted_text(root, PROJECT_CONFIG)
        return None if text is None else (str(root / PROJECT_CONFIG), text)

    def _get_variable(self, key: str) -> int:
        """A variable is a key more often than not, and never shown."""
        values, problems = read_names(self.home.env, self.env_file)
        stale = self._stale(key)
        self._remark(problems)
        if stale:
            remark(
                f"{self.file}: {key} stands there, too, where nothing reads it. `hermes config set {key} VALUE` drops it."
            )
        if key not in values:
            hint = " The environment has it; `hermes secrets list` shows what holds." if self.environ.get(key) else ""
            raise NotInEnv(key=key, file=self.env_file, hint=hint)
        record = {"key": key, "file": str(self.home.env), "length": len(values[key]), "is_also_in_config": stale}
        return self.tell(record, f"set in {self.env_file} ({len(values[key])} characters, not shown)")

    def _get_unknown(self, key: str, keys: tuple[str, ...], loaded: Loaded) -> int:
        from agent.config.config_file import stored_value

        value = stored_value(self.home.config, keys)
        if value is None:
            raise NotThere(key=key)
        value = self._masking(loaded).deep(value)
        return self.tell({"key": key, "value": value, "layer": "user"}, _text(value))

    def _stale(self, key: str) -> bool:
        from agent.config.config_file import stored_value

        return stored_value(self.home.config, (key,)) is not None

    def _drop_stale(self, key: str) -> bool:
        from agent.config.config_file import unset_setting

        return self._stale(key) and unset_setting(self.home.config, (key,), self.file)

    def _remark(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            remark(problem.sentence)


def _keys(key: str) -> tuple[str, ...]:
    from agent.config.table import split_key

    keys = split_key(key)
    if not keys:
        raise NoKey(key=key)
    return keys


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
