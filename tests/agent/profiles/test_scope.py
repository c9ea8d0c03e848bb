"""Whose key goes where: one profile or two in a process, launch or routed, the key in its .env, around it, or nowhere."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import pytest

from agent.config.scope import is_named_like_one
from agent.hub import Hub
from agent.route import RouteError
from session.models import Role

if TYPE_CHECKING:
    from conftest import World

LAUNCH, ROUTED = "default", "work"

# OWN_KEY is the key of the profile's server. TOOL_KEY is one that its commands may have, and lies in the same place.
SCOPE = {
    LAUNCH: {"OWN_KEY": "sk-launch-1111", "TOOL_KEY": "tk-launch-1111"},
    ROUTED: {"OWN_KEY": "sk-routed-2222", "TOOL_KEY": "tk-routed-2222"},
}
AMBIENT = {"OWN_KEY": "sk-ambient-3333", "TOOL_KEY": "tk-ambient-3333"}
NO_KEY = "none"  # what a server that takes no key is sent in the place of one
# In the .env of each profile, for no server and no command.
KEPT = {LAUNCH: {"LAUNCH_ONLY": "kept-launch-4444"}, ROUTED: {"ROUTED_ONLY": "kept-routed-5555"}}
# What lies in the environment of a person's shell: the launch profile's commands live on it, no other's may see it.
PERSONS_OWN = {
    "GITHUB_TOKEN": "ghp-person-6666",
    "AWS_SECRET_ACCESS_KEY": "aws-person-7777",
    "COPY_OF_IT": "prefix-kept-launch-4444",
    "https_proxy": "http://me:pw-person-8888@proxy:3128",
}
HARMLESS = {"http_proxy": "http://proxy:3128", "EDITOR_THEME": "dark", "TOKENIZERS_PARALLELISM": "false"}
EVERY_SECRET = (
    *SCOPE[LAUNCH].values(),
    *SCOPE[ROUTED].values(),
    *AMBIENT.values(),
    *KEPT[LAUNCH].values(),
    *KEPT[ROUTED].values(),
    *("ghp-person-6666", "aws-person-7777", "pw-person-8888"),
)


def secrets_in(text: str) -> set[str]:
    return {secret for secret in EVERY_SECRET if secret in text}


@dataclass(frozen=True)
class Cell:
    """One place of the matrix: what is open, whose hub is looked at, where the keys lie, and where one might come out."""

    count: str
    who: str
    where: str
    sink: str

    @property
    def is_several(self) -> bool:
        return self.count == "several"

    @property
    def other(self) -> str:
        return ROUTED if self.who == LAUNCH else LAUNCH

    def given(self, who: str) -> dict[str, str]:
        """The keys of a profile: its own, those of the environment for the launch profile alone, or none."""
        if self.where == "scope":
            return SCOPE[who]
        return AMBIENT if self.where == "ambient" and who == LAUNCH else {}

    @property
    def model(self) -> str:
        """A model that answers: without a key only that of the server that takes none."""
        return "own:m" if self.given(self.who) else "open:m"

    def __str__(self) -> str:
        return f"{self.count}-{'launch' if self.who == LAUNCH else 'routed'}-key in {self.where}-{self.sink}"


def prepare(world: World, cell: Cell) -> None:
    world.environ |= PERSONS_OWN | HARMLESS | (AMBIENT if cell.where == "ambient" else {})
    for name in (LAUNCH, ROUTED):
        world.configure(name, "OWN_KEY", "TOOL_KEY")
        world.keep(name, **KEPT[name], **(SCOPE[name] if cell.where == "scope" else {}))


async def opened(world: World, cell: Cell) -> Hub:
    """The hub in question, alone or between two turns of the other profile's."""
    prepare(world, cell)
    if not cell.is_several:
        (hub,) = await world.open(cell.who)
        return hub
    before, hub = await world.open(cell.other, cell.who)
    await world.turn(before, model="own:m" if cell.given(cell.other) else "open:m")
    return hub


async def provider_call(world: World, cell: Cell) -> None:
    """A server is sent the key of its own profile or no request; one that takes none is sent none."""
    hub = await opened(world, cell)
    key = cell.given(cell.who).get("OWN_KEY")
    if key:
        await world.turn(hub, model="own:m")
    else:
        with pytest.raises(RouteError, match="OWN_KEY"):
            hub.models.resolve("own:m", hub.choice.route)
    assert set(world.servers[cell.who].keys) == ({key} if key else set())
    world.servers[cell.who].keys.clear()
    await world.turn(hub, model="open:m")
    assert set(world.servers[cell.who].keys) == {NO_KEY}
    others = {cell.given(cell.other).get("OWN_KEY", NO_KEY)} if cell.is_several else set[str]()
    assert set(world.servers[cell.other].keys) == others


async def tool_child(world: World, cell: Cell) -> None:
    """A command gets of all secrets those its profile passes on, and the launch profile's what the person's shell has."""
    hub = await opened(world, cell)
    printed = world.child(await world.turn(hub, model=cell.model))
    passed = {name: value for name, value in cell.given(cell.who).items() if name == "TOOL_KEY"}
    expected = passed | (PERSONS_OWN if cell.who == LAUNCH else {})
    assert {name: value for name, value in printed.items() if secrets_in(value)} == expected
    assert printed.items() >= HARMLESS.items()
    assert (printed["PATH"], printed["LANG"]) == (world.environ["PATH"], "C.UTF-8")
    assert printed["HERMES_HOME"] == str(world.root(cell.who))


async def error_text(world: World, cell: Cell) -> None:
    """An error that quotes a key names it instead, and one about a key that is missing quotes no other."""
    hub = await opened(world, cell)
    ((name, value),) = KEPT[cell.who].items()
    rows = await world.turn(hub, f"refuse {value}", cell.model)
    told = [next(row.content for row in reversed(rows) if row.role is Role.NOTICE), world.errors[-1]]
    assert [f"refuse [{name}]" in text for text in told] == [True, True]
    if cell.model == "own:m":
        assert ["OWN_KEY" in text for text in told] == [True, True]
    else:
        with pytest.raises(RouteError, match="OWN_KEY") as refused:
            hub.models.resolve("own:m", hub.choice.route)
        told.append(str(refused.value))
    assert secrets_in(" ".join([*told, hub.greeting, *hub.remarks, hub.ignored])) == set()


async def log(world: World, cell: Cell) -> None:
    """What is logged names every secret of every open profile instead of quoting it."""
    hub = await opened(world, cell)
    await world.turn(hub, "refuse", cell.model)
    known: dict[str, str] = {}
    for who in (cell.who, cell.other) if cell.is_several else (cell.who,):
        known |= {value: name for name, value in (cell.given(who) | KEPT[who]).items()}
    known.pop(AMBIENT["TOOL_KEY"], None)  # a variable of the shell that no server's key is in, like any other
    for value, name in known.items():
        logging.getLogger("agent").error("%s was said to be %s", name, value)
    assert [name for name in known.values() if f"{name} was said to be [{name}]" not in world.log] == []
    assert secrets_in(world.log) == set()


SINKS = {"tool child": tool_child, "provider call": provider_call, "error text": error_text, "log": log}
MATRIX = [
    Cell(*cell) for cell in product(("single", "several"), (LAUNCH, ROUTED), ("scope", "ambient", "neither"), SINKS)
]


@pytest.mark.parametrize("cell", MATRIX, ids=str)
async def test_no_secret_crosses_and_the_launch_profile_keeps_what_its_commands_need(world: World, cell: Cell):
    await SINKS[cell.sink](world, cell)


async def test_a_variable_that_either_profile_takes_for_a_key_stays_with_the_launch_profile(world: World):
    """Names that look like anything but a key, and become one in the config of this or that profile."""
    world.configure(LAUNCH, "LAUNCH_DOOR")
    world.configure(ROUTED, "WORK_DOOR")
    world.environ |= {"LAUNCH_DOOR": "open-sesame-1", "WORK_DOOR": "open-sesame-2"}
    routed, launch = await world.open(ROUTED, LAUNCH)
    seen = routed.create(world.work).s.place.environ
    assert seen.keys() & {"LAUNCH_DOOR", "WORK_DOOR"} == set()
    assert routed.profile.secrets.get("WORK_DOOR") is None
    assert launch.profile.secrets.get("LAUNCH_DOOR") == "open-sesame-1"
    assert launch.create(world.work).s.place.environ["WORK_DOOR"] == "open-sesame-2"


async def test_routed_is_told_by_the_home_not_by_the_option(world: World):
    """HERMES_HOME inside a profile makes it the launch profile, and the first one a routed one."""
    world.environ |= {"HERMES_HOME": str(world.root(ROUTED)), "OPENAI_API_KEY": "sk-around-9999"}
    work, first = await world.open(ROUTED, LAUNCH)
    assert (work.profile.name, work.profile.is_routed, work.profile.secrets.get("OPENAI_API_KEY")) == (
        ROUTED,
        False,
        "sk-around-9999",
    )
    assert (first.profile.name, first.profile.is_routed, first.profile.secrets.get("OPENAI_API_KEY")) == (
        LAUNCH,
        True,
        None,
    )


async def test_keys_of_the_environment_are_those_of_the_start(world: World):
    """What the process's environment becomes later reaches no profile, and the note says that it takes a restart."""
    world.environ["OPENAI_API_KEY"] = "sk-around-9999"
    (launch,) = await world.open(LAUNCH)
    assert world.profiles is not None
    assert world.profiles.note == ""
    world.environ["OPENAI_API_KEY"] = "sk-rotated-99999"
    await world.open(ROUTED)
    assert launch.profile.secrets.get("OPENAI_API_KEY") == "sk-around-9999"
    assert "restart" in world.profiles.note


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *((name, True) for name in ("MY_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "GH_PAT")),
        *((name, True) for name in ("npm_config__authToken", "NPM_CONFIG__AUTH", "GOOGLE_APPLICATION_CREDENTIALS")),
        *((name, False) for name in ("KEYBOARD", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "PATH", "OLDPWD")),
        *((name, False) for name in ("XDG_SESSION_ID", "COMPASS_HOME", "MONKEY", "DISPLAY", "http_proxy")),
    ],
)
def test_a_name_tells_whether_it_holds_a_credential(name: str, is_one: bool):
    assert is_named_like_one(name) is is_one
