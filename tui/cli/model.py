"""`hermes model`: what a new session talks to, the models there are, and saving another default."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import closing

from msgspec import to_builtins

from agent.context.words import tokens
from agent.default_model import save_default
from agent.model_catalogue import Catalogue, ListedModels, ServerLine
from agent.profile import Profile
from agent.providers.local import LocalServer, probe_local
from agent.route import Choice, choose_route, resolve
from agent.workspace import find_workspace
from session.errors import UserError
from session.models import ApiMode, Route
from tui.cli.console import answer, data, remark
from tui.cli.options import ModelOptions, folder


class NoSuchProvider(UserError):
    """No list has this provider."""

    sentence = "There is no provider {name}. `hermes model list` shows those there are."


def run_model(options: ModelOptions, environ: Mapping[str, str]) -> int:
    """Returns the exit code. With --json one object or array is printed. Raises UserError."""
    profile = Profile.load(environ, name=options.profile, cwd=find_workspace(folder("")))
    with closing(profile):
        local = asyncio.run(_local(profile))
        match options.verb:
            case "set":
                return _set(profile, local, options)
            case "list":
                return _list(profile, local, options)
            case _:
                return _show(choose_route(profile.settings, profile.secrets, local=local), options)


async def _local(profile: Profile) -> list[LocalServer]:
    return await probe_local() if profile.settings.probe_local else []


def _show(choice: Choice, options: ModelOptions) -> int:
    if options.as_json:
        data(json.dumps({**_record(choice.route), "why": choice.why, "problem": choice.problem}))
        return 0
    answer(_named(choice.route))
    remark(" ".join(filter(None, (choice.problem, choice.why, choice.how_to_change))))
    return 0


def _set(profile: Profile, local: Sequence[LocalServer], options: ModelOptions) -> int:
    """1 where something stronger than the file still names another model."""
    route = resolve(options.name, profile.settings, profile.secrets, local=local)
    chosen, but = save_default(profile, route, local)
    if options.as_json:
        data(json.dumps({**_record(route), "holds": chosen is not None, "remark": but}))
    else:
        answer(but or f"New sessions talk to {_named(route)}.")
    return 0 if chosen is not None else 1


def _list(profile: Profile, local: Sequence[LocalServer], options: ModelOptions) -> int:
    catalogue = Catalogue(profile, local)
    if not options.name:
        return _tell_servers(catalogue, options)
    server = next((line for line in catalogue.servers() if line.name == options.name), None)
    if server is None:
        raise NoSuchProvider(name=options.name)
    listed = asyncio.run(catalogue.models(server))
    if options.as_json:
        data(json.dumps({"models": [to_builtins(line) for line in listed.lines], "note": listed.note}))
    else:
        answer("\n".join(_model_lines(listed)))
        if listed.note:
            remark(listed.note)
    return 0


def _tell_servers(catalogue: Catalogue, options: ModelOptions) -> int:
    servers, aliases = catalogue.servers(), catalogue.aliases()
    if options.as_json:
        told = {
            "providers": [to_builtins(line) for line in servers],
            "aliases": [to_builtins(line) for line in aliases],
        }
        data(json.dumps(told))
    else:
        names = [f"{line.name:<16} {line.model}" for line in aliases]
        answer("\n".join([*names, *(_server_line(line) for line in servers)]))
    return 0


def _server_line(line: ServerLine) -> str:
    needs = f": {line.key}" if line.standing.value == "needs a key" else ""
    return f"{line.name:<16} {line.label:<20} {line.standing.value}{needs}".rstrip()


def _model_lines(listed: ListedModels) -> list[str]:
    width = max((len(line.name) for line in listed.lines), default=0)
    return [f"{line.name:<{width}}  {tokens(line.window) if line.window else ''}".rstrip() for line in listed.lines]


def _record(route: Route) -> dict[str, object]:
    return {"provider": route.provider, "model": route.model, "base_url": route.base_url, "window": route.window}


def _named(route: Route) -> str:
    return "the built-in demo" if route.api_mode is ApiMode.DEMO else f"{route.provider}:{route.model}"
