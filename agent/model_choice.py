"""Which model a session talks to where nobody chose one for it, and what a person should know of that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.parts import Parts
from agent.profile import Profile
from agent.providers.local import LocalServer, check_model, probe_local
from agent.providers.registry import HOSTED
from agent.route import Choice, Routes, choose_route, resolve
from session.errors import UserError
from session.models import ApiMode, Route, Session

if TYPE_CHECKING:
    from agent.model_catalogue import Catalogue
    from agent.model_offers import Offers


class ModelChoice:
    """Of one profile. `chosen` is what a new session talks to, and why."""

    def __init__(self, profile: Profile, parts: Parts, chosen: Choice, *, is_confirmed: bool) -> None:
        self._profile, self._parts = profile, parts
        self.chosen = chosen
        self._is_confirmed = is_confirmed
        self._local: Sequence[LocalServer] = ()
        self.is_demo_wanted = False  # a person chose it, until this process ends

    @property
    def lacks_one(self) -> bool:
        """Whether the demo answers a new session though nobody wants it: nothing else can be had."""
        from agent.model_offers import lacks_model  # what a start need not pay for

        return not self.is_demo_wanted and lacks_model(self.chosen)

    async def offers(self) -> Offers:
        """What can be had instead of nothing; servers on this machine are looked for, where that is wanted."""
        from agent.model_offers import offers_for

        was_looked = self._profile.settings.probe_local
        if was_looked:
            self._local = await probe_local()
        return offers_for(self.chosen, self._profile.secrets, self._local, was_looked=was_looked)

    @property
    def greeting(self) -> str:
        """What answers in a new session, why, and how to change it."""
        said = (self.chosen.problem, self.chosen.why, self.chosen.how_to_change)
        return " ".join(part for part in said if part)

    def resolve(self, name: str, current: Route | None = None) -> Route:
        """The route that `provider:model`, a provider or a model of the current provider stands for. Raises UserError."""
        return resolve(name, self._profile.settings, self._profile.secrets, current, self._local)

    def route_of(self, stored: Session) -> Route:
        """Where a session goes on. One that was imported names its model only: where that answers, the config here says."""
        route = stored.route
        if route is None:
            return self.chosen.route
        try:
            return self._now(route)
        except UserError:
            return self.chosen.route

    def about(self, stored: Session) -> str:
        """What a person should know of where a session goes on, "" where that is where it was."""
        route = stored.route
        if route is None or not route.base_url:
            return ""
        try:
            now = self._now(route)
        except UserError as error:
            why = f"This session talked to {_placed(route)}, which can't be had any more: {error}"
            return f"{why} {_placed(self.chosen.route)} answers from now on. Change it with /model."
        if now.base_url == route.base_url:
            return ""
        where = f"{now.provider} is at {now.base_url} now, as {self._profile.settings.file} says"
        return f"This session talked to {_placed(route)}. {where}, so {now.model} there answers from now on."

    def _now(self, route: Route) -> Route:
        """A stored route, as it is today. An imported one names a model only. Raises UserError."""
        if route.base_url or route.api_mode is ApiMode.DEMO:
            return Routes(self._profile.settings, self._profile.secrets, self._local).as_now(route)
        return self.resolve(f"{route.provider}:{route.model}")

    def renew(self, name: str) -> bool:
        """Choose anew now that a key of this name was saved. False where it lacked no such key."""
        if name not in self.chosen.lacking:
            return False
        self.chosen = choose_route(self._profile.settings, self._profile.secrets)
        return True

    def names(self, current: Route) -> list[tuple[str, str]]:
        """What can be named to `resolve` without asking anybody, each with what it is: a few, for whoever writes one."""
        settings, secrets = self._profile.settings, self._profile.secrets
        found = [(name, f"your name for {alias.model}") for name, alias in settings.model_aliases.items()]
        for name, own in settings.providers.items():
            found += [(f"{name}:{model}", "") for model in own.models]
        found += [(f"{server.name}:{model.id}", "on this machine") for server in self._local for model in server.models]
        for known in HOSTED:
            if secrets.has(known.key_env):
                found += [(f"{known.name}:{model.id}", known.label) for model in known.models]
        found.append((f"{current.provider}:{current.model}", "answers here now"))
        return list(dict(found).items())

    async def catalogue(self) -> Catalogue:
        """The models to choose from. Servers on this machine are looked for anew, where that is wanted."""
        from agent.model_catalogue import Catalogue  # what a start need not pay for

        if self._profile.settings.probe_local:
            self._local = await probe_local()
        return Catalogue(self._profile, self._local)

    async def set_default(self, route: Route) -> str:
        """Let every new session talk to this model, as config.yaml says from now on.

        What a person should know of it, "" for nothing. Raises UserError: nothing is changed then.
        """
        from agent.default_model import save_default  # what a start need not pay for

        chosen, remark = await asyncio.to_thread(save_default, self._profile, route, self._local)
        self.chosen = chosen or self.chosen
        return remark

    def needs_confirmation(self, route: Route) -> str:
        """Why the first prompt on a route must be confirmed, "" when it need not be.

        A paid provider that was chosen only because its key lay in the environment is never used unasked.
        """
        if not self.chosen.is_paid_guess or self._is_confirmed or route != self.chosen.route:
            return ""
        return f"{self.chosen.why} Sending this prompt to {route.model} at {route.provider} may cost money. Use it from now on?"

    async def confirm(self) -> None:
        """Remember that the person wants the provider that was found in the environment."""
        self._is_confirmed = True
        name = self.chosen.route.provider
        await asyncio.wrap_future(self._parts.db.write(lambda tables: tables.state.put(f"confirmed:{name}", "yes")))

    async def look(self) -> list[str]:
        """What a person should know about the choice, a sentence each: that its provider no longer lists the model."""
        route = self.chosen.route
        if route.api_mode is ApiMode.DEMO:
            return []
        key = self._profile.secrets.get(route.key_ref) if route.key_ref else None
        self._parts.look_up_window(route)
        missing = await check_model(route, key) if self.chosen.is_paid_guess else None
        return [missing] if missing else []


def _placed(route: Route) -> str:
    """A model with the address it answers at."""
    if route.api_mode is ApiMode.DEMO:
        return "the built-in demo"
    return f"{route.model} at {route.provider} ({route.base_url})"
