"""The one place that wires the parts of a profile together, for every front end."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.approvals.grants import Grants
from agent.approvals.inbox import Inbox
from agent.config.settings import ProviderSettings, Settings
from agent.config.terminal_settings import Sandboxing
from agent.context.weights import LearnedWeights
from agent.context.window import Windows
from agent.fallback import FallbackChain
from agent.hub import Hub
from agent.parts import Parts
from agent.profile import Profile
from agent.prompt_source import PromptSource
from agent.providers.base import Provider
from agent.providers.wire_log import RecordedProvider, WireLog, wire_log_path
from agent.route import Choice, auxiliary_route, choose_route, missing_key, resolve
from agent.route_settings import compatibility, key_headers, request_extras, timeouts
from agent.titles import Titles
from agent.tools.base import Workplace
from agent.tools.call_record import CallRecords
from agent.tools.past import Past
from agent.tools.seen_files import SeenFiles
from agent.tools.session_sandbox import SessionSandbox
from agent.tools.toolbox import Toolbox
from agent.tools.withheld import Withheld
from session.models import ApiMode, Route, Session

if TYPE_CHECKING:
    from agent.checkpoints.checkpoints import Checkpoints
    from agent.providers.quotas import Limit


async def open_hub(profile: Profile, *, source: str, is_attended: bool, model: str = "") -> Hub:
    """A hub over the profile's store. `source` names the front end; `model` is a wish from the command line.

    Raises UserError where the model can't be resolved.
    """
    choice = choose_route(profile.settings, profile.secrets, model or None)
    providers = Providers(profile)
    withheld: defaultdict[str, Withheld] = defaultdict(lambda: Withheld(lambda: profile.secrets.withheld))
    seen: defaultdict[str, SeenFiles] = defaultdict(SeenFiles)
    sandboxes: defaultdict[str, SessionSandbox] = defaultdict(lambda: SessionSandbox(profile.settings.terminal.sandbox))
    prompts = PromptSource(profile)
    windows, weights, is_confirmed, _ = await asyncio.gather(
        Windows.load(profile.db),
        LearnedWeights.load(profile.db),
        _is_confirmed(profile, choice),
        asyncio.to_thread(prompts.read_personalities),
    )
    settings, secrets = profile.settings, profile.secrets
    histories = Histories(profile)
    titles = Titles(lambda main: auxiliary_route(settings, secrets, main), is_on=settings.auxiliary.titles)
    parts = Parts(
        profile=profile.name,
        source=source,
        db=profile.db,
        settings=profile.settings,
        inbox=Inbox(),
        toolbox=Toolbox(is_sandboxed=profile.settings.terminal.sandbox is not Sandboxing.OFF),
        provider_for=providers.get,
        place_for=lambda session: _place(
            profile, session, withheld[session.id], seen[session.id], sandboxes[session.id]
        ),
        secrets=profile.secrets,
        extras_for=lambda route: request_extras(profile.settings, route),
        compatibility_for=lambda route: compatibility(profile.settings, route),
        fallback=FallbackChain(
            profile.settings.fallback, lambda name: resolve(name, profile.settings, profile.secrets)
        ),
        windows=windows,
        weights=weights,
        titles=titles,
        grants=Grants(
            profile.home.config, f"{profile.home.shown}/{profile.home.config.name}", settings, profile.read_settings
        ),
        prompts=prompts,
        is_attended=is_attended,
        history_for=histories.of,
        limits_of=providers.limits,
    )

    async def release() -> None:
        from agent.tools.jobs import end_all  # what a start need not pay for

        await titles.close()
        await windows.close()
        await asyncio.gather(end_all(profile.home.outputs), providers.close(), histories.close())

    return Hub(profile, parts, choice, is_confirmed, release)


class Providers:
    """The clients of this process, one for each server and key, made when first asked for."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._made: dict[tuple[str, str, str, ApiMode], Provider] = {}
        self._wire_log = WireLog(wire_log_path(profile.home.logs))

    def get(self, route: Route) -> Provider:
        server = (route.provider, route.base_url, route.key_ref, route.api_mode)
        if server not in self._made:
            self._made[server] = self._make(route)
        return self._made[server]

    def _make(self, route: Route) -> Provider:
        """Imports the client only now: the first frame must not pay for it."""
        if route.api_mode is ApiMode.DEMO:
            from agent.providers.demo import DemoProvider

            return DemoProvider(home=self._profile.home.shown)
        from agent.providers.retry import RetryingProvider

        settings, outputs = self._profile.settings.agent, self._profile.home.outputs
        return RetryingProvider(
            self.direct(route),
            stream_retries=settings.stream_retries,
            request_retries=settings.api_max_retries,
            outputs=lambda session: outputs / session,
        )

    def direct(self, route: Route) -> Provider:
        """A client of a server that asks each request once; it belongs to the caller. Raises RouteError."""
        from agent.providers.keyed import KeyedProvider

        settings, secrets = self._profile.settings, self._profile.secrets
        keyed = KeyedProvider(
            lambda: self.key(route),
            lambda: secrets.outdate(route.key_ref),
            lambda key: client_of(route, key, settings),
        )
        return RecordedProvider(keyed, self._wire_log)

    def limits(self, route: Route) -> Sequence[Limit]:
        """How much the server of a route still lets a person ask, as it told last."""
        return self._wire_log.limits(route.provider)

    async def key(self, route: Route) -> str:
        """The key for the next request, "" where the server takes none. Raises RouteError, NoKey."""
        secrets = self._profile.secrets
        key = await secrets.fresh(route.key_ref)
        if route.key_ref and key is None:  # a stored session may outlive the key it was made with
            raise missing_key(route.provider, route.key_ref, secrets)
        return key or ""

    async def close(self) -> None:
        await asyncio.gather(*(provider.aclose() for provider in self._made.values()))
        await self._wire_log.flush()


class Histories:
    """The file checkpoints of the sessions that work here, each made when it is first asked for."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._made: dict[tuple[str, str], Checkpoints] = {}

    def of(self, session: Session) -> Checkpoints:
        """Those of a session, for the workspace that it has now."""
        from agent.checkpoints.checkpoints import Checkpoints  # what a start need not pay for

        key = (session.id, session.workspace)
        if key not in self._made:
            environ, root = self._profile.secrets.child_environ(), Path(session.workspace)
            self._made[key] = Checkpoints(self._profile.home, session.id, root, environ)
        return self._made[key]

    async def close(self) -> None:
        await asyncio.gather(*(checkpoints.close() for checkpoints in self._made.values()))


def client_of(route: Route, key: str, settings: Settings) -> Provider:
    from agent.providers.http import Network

    own = settings.providers.get(route.provider, ProviderSettings())
    is_typed = settings.agent.sdk_transform
    headers = {**own.extra_headers, **key_headers(settings, route, key)}
    network = Network(own.proxy, str(Path(own.ca_file).expanduser()) if own.ca_file else "")
    if route.api_mode is ApiMode.RESPONSES:
        from agent.providers.responses import ResponsesProvider

        return ResponsesProvider(
            route.base_url, key, headers, lambda: timeouts(settings, route), network, is_typed=is_typed
        )
    from agent.providers.chat import ChatProvider

    return ChatProvider(route.base_url, key, headers, lambda: timeouts(settings, route), network, is_typed=is_typed)


def _place(
    profile: Profile, session: Session, withheld: Withheld, seen: SeenFiles, sandbox: SessionSandbox
) -> Workplace:
    return Workplace(
        cwd=Path(session.cwd),
        root=Path(session.workspace),
        environ=profile.secrets.child_environ(),
        outputs=profile.home.outputs / session.id,
        withheld=withheld,
        seen=seen,
        records=CallRecords(profile.home.running, session.id, profile.secrets.mask),
        web=profile.settings.web,
        past=Past(profile.db, session.id, profile.secrets.mask),
        home=profile.home.root,
        sandbox=sandbox,
    )


async def _is_confirmed(profile: Profile, choice: Choice) -> bool:
    key = f"confirmed:{choice.route.provider}"
    return await asyncio.wrap_future(profile.db.read(lambda tables: tables.state.get(key))) == "yes"
