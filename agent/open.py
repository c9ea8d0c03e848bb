"""The one place that wires the parts of a profile together, for every front end."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from pathlib import Path

from agent.approvals.inbox import Inbox
from agent.hub import Hub
from agent.open_session import Parts
from agent.profile import Profile
from agent.providers.base import Provider
from agent.route import Choice, check_supported, choose_route, missing_key, request_extras
from agent.tools.base import Workplace
from agent.tools.registry import TOOLS, definitions
from agent.tools.shell_run import end_all
from agent.tools.withheld import Withheld
from session.models import ApiMode, Route, Session


async def open_hub(profile: Profile, *, source: str, is_attended: bool, model: str = "") -> Hub:
    """A hub over the profile's store. `source` names the front end; `model` is a wish from the command line.

    Raises UserError where the model can't be resolved.
    """
    choice = choose_route(profile.settings, profile.secrets, model or None)
    providers = Providers(profile)
    withheld: defaultdict[str, Withheld] = defaultdict(lambda: Withheld(lambda: profile.secrets.withheld))
    parts = Parts(
        profile=profile.name,
        db=profile.db,
        settings=profile.settings,
        inbox=Inbox(),
        tools=TOOLS,
        tool_definitions=definitions(),
        provider_for=providers.get,
        place_for=lambda session: _place(profile, session, withheld[session.id]),
        secrets=profile.secrets,
        extras_for=lambda route: request_extras(profile.settings, route),
        is_attended=is_attended,
    )

    async def release() -> None:
        await asyncio.gather(end_all(profile.home.outputs), providers.close())

    return Hub(profile, parts, choice, source, await _is_confirmed(profile, choice), release)


class Providers:
    """The clients of this process, one for each server and key, made when first asked for."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._made: dict[tuple[str, str, ApiMode], Provider] = {}

    def get(self, route: Route) -> Provider:
        server = (route.base_url, route.key_ref, route.api_mode)
        if server not in self._made:
            self._made[server] = self._make(route)
        return self._made[server]

    def _make(self, route: Route) -> Provider:
        """Imports the client only now: the first frame must not pay for it."""
        if route.api_mode is ApiMode.DEMO:
            from agent.providers.demo import DemoProvider

            return DemoProvider(home=self._profile.home.shown)
        check_supported(route)
        if not self._has_key(route):  # a stored session may outlive the key it was made with
            raise missing_key(route.provider, route.key_ref, self._profile.secrets)
        from agent.providers.chat import ChatProvider
        from agent.providers.keyed import KeyedProvider
        from agent.providers.retry import RetryingProvider

        secrets = self._profile.secrets
        chat = KeyedProvider(
            lambda: self._key(route),
            lambda: secrets.outdate(route.key_ref),
            lambda key: ChatProvider(route.base_url, key),
        )
        return RetryingProvider(chat, stream_retries=self._profile.settings.agent.stream_retries)

    def _has_key(self, route: Route) -> bool:
        return not route.key_ref or self._profile.secrets.has(route.key_ref)

    async def _key(self, route: Route) -> str:
        """The key for the next request, "" where the server takes none. Raises RouteError, NoKey."""
        secrets = self._profile.secrets
        key = await secrets.fresh(route.key_ref)
        if route.key_ref and key is None:
            raise missing_key(route.provider, route.key_ref, secrets)
        return key or ""

    async def close(self) -> None:
        await asyncio.gather(*(provider.aclose() for provider in self._made.values()))


def _place(profile: Profile, session: Session, withheld: Withheld) -> Workplace:
    return Workplace(
        cwd=Path(session.cwd),
        root=Path(session.workspace),
        environ=profile.secrets.child_environ(),
        outputs=profile.home.outputs / session.id,
        withheld=withheld,
    )


async def _is_confirmed(profile: Profile, choice: Choice) -> bool:
    key = f"confirmed:{choice.route.provider}"
    return await asyncio.wrap_future(profile.db.read(lambda tables: tables.state.get(key))) == "yes"
