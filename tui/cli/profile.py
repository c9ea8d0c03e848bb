"""`hermes profile`: the homes beside the first one, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import to_builtins

from agent.config import profiles
from agent.config.home import Home, launch_home
from session.errors import UserError
from tui.cli.console import answer, ask_word, data, has_screen, remark
from tui.cli.options import ProfileOptions

FAILED = 1


class NotTyped(UserError):
    """`profile delete` without a terminal."""

    sentence = "There is nobody to ask, so the profile {name} was not deleted. To delete it: hermes profile delete {name} --yes"


def run_profile(options: ProfileOptions, environ: Mapping[str, str]) -> int:
    """Returns the exit code: 1 where a deletion was not confirmed. With --json one object or array is printed.

    Raises UserError.
    """
    launch = launch_home(environ)
    base = launch.base
    match (options.verb, *options.names):
        case ("list",):
            _list(base, options)
        case ("create", name):
            _tell(options, profiles.create(base, name), "The profile {name} is in {shown}. Use it: hermes -p {name}")
        case ("clone", source, name):
            home = profiles.clone(base, source, name)
            _tell(options, home, "The profile {name} is in {shown}, without conversations. Use it: hermes -p {name}")
        case ("use", name):
            profiles.use(base, name)
            _tell(options, base.of(name), "hermes now starts with the profile {name}.")
        case ("rename", old, new):
            _tell(options, profiles.rename(base, old, new), f"The profile {old} is now {{name}}, in {{shown}}.")
            if launch.name == old:
                remark(f"HERMES_HOME still names the folder it had, {launch.root}.")
        case ("delete", name):
            return _delete(base, name, options)
        case ("migrate-identity", old, new):
            profiles.migrate_identity(base, old, new)
            _tell(options, base.of(new), f"Nothing bears the name {old} any more where {{name}} is meant.")
        case _:
            raise AssertionError(options)
    return 0


def _list(base: Home, options: ProfileOptions) -> None:
    entries = profiles.listing(base)
    if options.as_json:
        data(json.dumps(to_builtins(entries)))
    else:
        width = max(len(entry.name) for entry in entries)
        answer("\n".join(f"{'*' if entry.is_used else ' '} {entry.name:{width}}  {entry.folder}" for entry in entries))


def _delete(base: Home, name: str, options: ProfileOptions) -> int:
    home = profiles.removable(base, name)
    if not options.yes:
        if options.as_json or not has_screen():
            raise NotTyped(name=name)
        remark(f"This removes {home.shown} with all conversations, settings and keys in it.")
        if ask_word("Type the profile's name to delete it: ") != name:
            remark("That is not its name. Nothing was deleted.")
            return FAILED
    profiles.delete(base, name)
    _tell(options, home, "The profile {name} was deleted.")
    return 0


def _tell(options: ProfileOptions, home: Home, sentence: str) -> None:
    if options.as_json:
        data(json.dumps({"name": home.name, "folder": str(home.root)}))
    else:
        answer(sentence.format(name=home.name, shown=home.shown))
