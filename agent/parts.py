"""What every session of a profile shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.approvals.grants import Grants
from agent.approvals.inbox import Inbox
from agent.config.secrets import Secrets
from agent.config.settings import Settings
from agent.context.terms import Terms
from agent.context.threshold import Budget, budget
from agent.context.weights import LearnedWeights
from agent.context.window import Windows
from agent.fallback import FallbackChain
from agent.file_history import NO_HISTORY, FileHistory
from agent.prompt_of_session import SessionPrompt
from agent.prompt_source import PromptSource
from agent.providers.base import Provider
from agent.providers.compatibility import Compatibility
from agent.route_settings import longest_answer
from agent.tools.base import Workplace
from agent.tools.toolbox import Toolbox
from session.db import SessionDB
from session.models import Route, Session

if TYPE_CHECKING:
    from agent.providers.quotas import Limit
    from agent.titles import Titles


class Parts(Struct, frozen=True):
    """The parts that the front end was opened with; `agent/open.py` puts them together."""

    profile: str
    source: str  # which front end this is: "tui", "chat", …
    db: SessionDB
    settings: Settings
    inbox: Inbox
    toolbox: Toolbox
    provider_for: Callable[[Route], Provider]
    place_for: Callable[[Session], Workplace]
    extras_for: Callable[[Route], Mapping[str, object]]  # what the config adds to a request's body
    compatibility_for: Callable[[Route], Compatibility]
    secrets: Secrets
    fallback: FallbackChain
    windows: Windows
    weights: LearnedWeights
    titles: Titles
    grants: Grants
    prompts: PromptSource
    is_attended: bool  # whether there is a person to ask
    history_for: Callable[[Session], FileHistory] = lambda _: NO_HISTORY
    limits_of: Callable[[Route], Sequence[Limit]] = lambda _: ()  # that a server told, where it tells any

    def terms(self, prompt: SessionPrompt, route: Route, tools_off: frozenset[str] = frozenset()) -> Terms:
        """On what the rows of a session would be sent on a route."""
        shared = self.budget(route)
        is_compacted = shared is not None and self.settings.compression.enabled
        return Terms(
            route=route,
            window=self.windows.on(route).window,
            system=prompt.text,
            stable_system=prompt.base,
            rules=prompt.rules,
            read_tools=partial(self.toolbox.definitions_without, tools_off),
            echoes=self.compatibility_for(route).echo_reasoning,
            weights=self.weights.on(route),
            threshold=shared.threshold if shared is not None and is_compacted else None,
        )

    def budget(self, route: Route) -> Budget | None:
        """How the window of a route is shared out, None where nobody has told how large it is."""
        window = self.windows.on(route).window
        return budget(window, longest_answer(self.settings, route), self.settings.compression) if window else None

    def look_up_window(self, route: Route) -> None:
        """Have the server tell the window of a model where nobody has yet; it is known some time later, or never."""
        self.windows.look_up(route, self.secrets.get(route.key_ref) if route.key_ref else None)
