"""What a request is beside its rows, where it goes, and what is known of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from agent.context.weights import Weights
from session.models import ApiMode, Route


class Terms(Struct, frozen=True):
    """On what the rows of a session would be sent now.

    `window` is the one that holds, `route.window` as it was configured. `stable_system` is the system prompt without the
    personality, which changes no figure, and `rules` what of it a project brought. `echoes`: thinking goes back with the answer it belongs to.
    """

    route: Route
    window: int | None
    system: str
    stable_system: str
    read_tools: Callable[[], Sequence[Mapping[str, object]]]
    echoes: bool
    weights: Weights
    threshold: int | None = None
    rules: str = ""

    @property
    def tools(self) -> Sequence[Mapping[str, object]]:
        """As a request names them; the first one to ask has them loaded."""
        return self.read_tools()

    @property
    def may_resend(self) -> bool:
        """Whether thinking may go back to the server at all."""
        return self.echoes or self.route.api_mode is ApiMode.RESPONSES

    @property
    def declared(self) -> int | None:
        """The window as configured, where the server proved less."""
        configured = self.route.window
        return configured if configured is not None and self.window is not None and self.window < configured else None
