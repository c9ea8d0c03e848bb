"""The profiles that one process has open: each its own hub, store, settings and keys, and nothing between them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from msgspec import Struct

from agent.config.home import launch_home
from agent.config.profile_name import DEFAULT
from agent.hub import Hub
from agent.open import open_hub
from agent.profile import Profile
from session.errors import UserError


class StillWorking(UserError):
    """A turn runs in the profile."""

    sentence = "A turn still runs in the profile {name}. Let it end or interrupt it, then rename the profile."


class NotStoredYet(UserError):
    """The disk took no writes, so that a conversation goes on in memory."""

    sentence = "The profile {name} can't be renamed now, because what was said would get lost: {loss}"


class NamedByHome(UserError):
    """HERMES_HOME is the profile's folder."""

    sentence = (
        "hermes was started with HERMES_HOME={root}, the folder of the profile {name}, so it can't be renamed from here. "
        "Start hermes without HERMES_HOME to rename it."
    )


class Front(Struct, frozen=True):
    """The front end that profiles are opened for."""

    source: str
    is_attended: bool
    cwd: Path | None = None


class OpenProfiles:
    """Opens profiles and closes them again. Lives on the app's asyncio loop.

    `environ` is the environment of the process as it was at the start. Whose it is, is told by the homes: the profile it
    was given to sees all of it, as it was then, and every other one sees it without credentials.
    """

    def __init__(self, environ: Mapping[str, str], first: Profile, front: Front) -> None:
        self._environ = dict(environ)
        self._front = front
        self._profiles: dict[str, Profile] = {first.name: first}
        self._hubs: dict[str, Hub] = {}
        self._opened_hubs: list[Hub] = []  # also those that are closed
        self._masks: list[Callable[[str], str]] = [first.secrets.mask]
        self._opening = asyncio.Lock()  # a profile has one hub, however often it is asked for

    @property
    def hubs(self) -> tuple[Hub, ...]:
        return tuple(self._hubs.values())

    @property
    def losses(self) -> list[str]:
        """What would be lost if hermes ended now, or is lost when all is closed; a sentence for each session."""
        return [loss for hub in self._opened_hubs for loss in hub.losses]

    def mask(self, text: str) -> str:
        """The text without the secrets of any profile that is or was open: they share one log."""
        for mask in self._masks:
            text = mask(text)
        return text

    @property
    def note(self) -> str:
        """What a person should know as long as several profiles are open, "" while it is one."""
        if len(self._hubs) < 2:
            return ""
        return (
            "Several profiles are open. Keys that come from the environment belong to the profile "
            f"{launch_home(self._environ).name} alone and stay as they were when hermes started; "
            "a changed one takes a restart."
        )

    async def open(self, name: str, model: str = "") -> Hub:
        """The hub of a profile, opened if need be; `model` is a wish from the command line. Raises UserError."""
        async with self._opening:
            if name not in self._hubs:
                self._hubs[name] = await self._opened(name, model)
            return self._hubs[name]

    async def close(self, cause: str) -> None:
        """Close every profile, whatever befalls the others; the first failure is raised after all."""
        steps: list[Callable[[], Awaitable[None]]] = []
        for hub in self._hubs.values():
            steps.append(lambda hub=hub: hub.close(cause))
        for profile in self._profiles.values():
            steps.append(lambda profile=profile: asyncio.to_thread(profile.close))
        self._hubs, self._profiles = {}, {}
        await _all_of(steps)

    async def rename(self, old: str, new: str) -> Hub:
        """Rename a profile that is open here, in memory and on disk; its new hub. Raises UserError.

        Where the old name still stands somewhere afterwards (NotMoved), the profile is open under the new one.
        """
        async with self._opening:
            hub = self._hubs[old]
            self._check_renaming(hub)
            await asyncio.to_thread(_check_renaming, hub.profile, new)
            await self._leave(hub)
            try:
                await asyncio.to_thread(_rename, hub.profile, new)
            finally:
                name = old if hub.profile.home.root.exists() else new
                self._hubs[name] = await self._opened(name, "")
            return self._hubs[new]

    # --- inside

    async def _opened(self, name: str, model: str) -> Hub:
        profile = self._profiles.get(name) or await asyncio.to_thread(self._load, name)
        if name not in self._profiles:
            self._profiles[name] = profile
            self._masks.append(profile.secrets.mask)
        hub = await open_hub(profile, source=self._front.source, is_attended=self._front.is_attended, model=model)
        self._opened_hubs.append(hub)
        return hub

    def _load(self, name: str) -> Profile:
        return Profile.load(self._environ, name=name, cwd=self._front.cwd)

    def _check_renaming(self, hub: Hub) -> None:
        if hub.is_busy:
            raise StillWorking(name=hub.profile.name)
        if hub.losses:
            raise NotStoredYet(name=hub.profile.name, loss=hub.losses[0])
        if not hub.profile.is_routed and hub.profile.name != DEFAULT:
            raise NamedByHome(root=hub.profile.home.root, name=hub.profile.name)

    async def _leave(self, hub: Hub) -> None:
        del self._hubs[hub.profile.name], self._profiles[hub.profile.name]
        await hub.close("its profile is being renamed")


def _check_renaming(profile: Profile, new: str) -> None:
    from agent.config import profiles  # what a start need not pay for

    with profile.lock.whole(profile.home):
        profiles.check_renaming(profile.home.base, profile.name, new)


def _rename(profile: Profile, new: str) -> None:
    from agent.config import profiles

    base = profile.home.base
    try:
        profile.db.close()
        with profile.lock.whole(profile.home):
            profiles.move(base, profile.name, new)
    finally:
        profile.lock.release()
    profiles.rewrite(base, profile.name, new)


async def _all_of(steps: list[Callable[[], Awaitable[None]]]) -> None:
    failures: list[Exception] = []
    for step in steps:
        try:
            await step()
        except Exception as error:  # noqa: BLE001 - raised again below, once nothing is left open
            failures.append(error)
    if failures:
        raise failures[0]
