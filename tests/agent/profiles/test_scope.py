"""Whose key goes where: one profile or two in a process, launch or routed, the key in its .env, around it, or nowhere."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from agent.config.scope import is_named_like_one
from agent.route import RouteError
from session.models import Role

if TYPE_CHECKING:
    from conftest import World

LAUNCH, ROUTED = "default", "work"
SCOPE = {LAUNCH: "sk-launch-scope-1111", ROUTED: "sk-routed-scope-2222"}
AMBIENT = "sk-ambient-3333333"
# What lies in the environment of a person's shell: the launch profile's commands live on it, no other's may see it.
PERSONS_OWN = {
    "GITHUB_TOKEN": "ghp-person-44444",
    "AWS_SECRET_ACCESS_KEY": "aws-person-55555",
    "COPY_OF_IT": "prefix-launch-env-66666",
    "https_proxy": "http://me:pw-person-77777@proxy:3128",
}
HARMLESS = {"http_proxy": "http://proxy:3128", "EDITOR_THEME": "dark", "TOKENIZERS_PARALLELISM": "false"}
SECRET_VALUES = ("sk-", "ghp-", "aws-person", "launch-env", "pw-person")


def prepare(world: World, where: str, *names: str) -> None:
    world.environ |= PERSONS_OWN | HARMLESS | ({"OWN_KEY": AMBIENT} if where == "ambient" else {})
    for name in (LAUNCH, ROUTED):
        world.configure(name, "OWN_KEY")
        more = {"LAUNCH_ONLY": "launch-env-66666"} if name == LAUNCH else {}
        world.keep(name, **more, **({"OWN_KEY": SCOPE[name]} if where == "scope" else {}))


def expected_key(who: str, where: str) -> str:
    if where == "scope":
        return SCOPE[who]
    return AMBIENT if where == "ambient" and who == LAUNCH else ""


Matrix = pytest.mark.parametrize(
    ("count", "who", "where"),
    [(n, w, k) for n in ("single", "several") for w in (LAUNCH, ROUTED) for k in ("scope", "ambient", "neither")],
)


async def opened(world: World, count: str, who: str, where: str):
    """The hub in question, opened alone or after another one that had a turn already."""
    prepare(world, where)
    if count == "single":
        (hub,) = await world.open(who)
        return hub
    other = ROUTED if who == LAUNCH else LAUNCH
    before, hub = await world.open(other, who)
    if expected_key(other, where):
        await world.turn(before)
    return hub


@Matrix
async def test_a_server_gets_the_key_of_its_own_profile_or_no_request(world: World, count: str, who: str, where: str):
    hub = await opened(world, count, who, where)
    key = expected_key(who, where)
    if key:
        await world.turn(hub)
    else:
        with pytest.raises(RouteError, match="OWN_KEY"):
            hub.resolve("own:m", hub.choice.route)
    assert set(world.servers[who].keys) == ({key} if key else set())
    other = ROUTED if who == LAUNCH else LAUNCH
    assert set(world.servers[other].keys) <= {expected_key(other, where)}


@Matrix
async def test_a_command_gets_no_key_of_another_profile_and_keeps_what_it_needs(
    world: World, count: str, who: str, where: str
):
    hub = await opened(world, count, who, where)
    runtime = hub.create(world.work)
    environ = runtime.s.place.environ
    if expected_key(who, where):
        printed = world.child(await world.turn(hub))
        assert {name: printed.get(name) for name in environ if name != "TERM"} == {
            name: value for name, value in environ.items() if name != "TERM"
        }
    assert HARMLESS.items() <= environ.items()
    assert (environ["PATH"], environ["LANG"]) == (world.environ["PATH"], "C.UTF-8")
    assert environ["HERMES_HOME"] == str(world.root(who))
    if who == LAUNCH:
        assert PERSONS_OWN.items() <= environ.items()
    else:
        assert [value for value in environ.values() if any(part in value for part in SECRET_VALUES)] == []
    assert "OWN_KEY" not in environ


@Matrix
async def test_an_error_that_quotes_the_key_names_it_only(world: World, count: str, who: str, where: str):
    hub = await opened(world, count, who, where)
    rows = await world.turn(hub, "refuse") if expected_key(who, where) else []
    told = " ".join(row.content for row in rows if row.role is Role.NOTICE) + hub.greeting
    assert [value for value in (*SCOPE.values(), AMBIENT) if value in told] == []
    if not expected_key(who, where):
        assert "OWN_KEY" in told


@Matrix
async def test_the_log_holds_no_key_of_any_profile(world: World, count: str, who: str, where: str):
    hub = await opened(world, count, who, where)
    if expected_key(who, where):
        await world.turn(hub, "refuse")
    present = {expected_key(name, where) for name in ((who,) if count == "single" else (LAUNCH, ROUTED))} - {""}
    for key in present:
        logging.getLogger("agent").error("the server said: %s", key)
    assert "the server said" in world.log or not present
    assert [key for key in present if key in world.log] == []


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
    world.environ |= {"HERMES_HOME": str(world.root(ROUTED)), "OPENAI_API_KEY": AMBIENT}
    work, first = await world.open(ROUTED, LAUNCH)
    assert (work.profile.name, work.profile.is_routed, work.profile.secrets.get("OPENAI_API_KEY")) == (
        ROUTED,
        False,
        AMBIENT,
    )
    assert (first.profile.name, first.profile.is_routed, first.profile.secrets.get("OPENAI_API_KEY")) == (
        LAUNCH,
        True,
        None,
    )


async def test_keys_of_the_environment_are_those_of_the_start(world: World):
    """What the process's environment becomes later reaches no profile, and the note says that it takes a restart."""
    world.environ["OPENAI_API_KEY"] = AMBIENT
    (launch,) = await world.open(LAUNCH)
    assert world.profiles is not None
    assert world.profiles.note == ""
    world.environ["OPENAI_API_KEY"] = "sk-rotated-99999"
    await world.open(ROUTED)
    assert launch.profile.secrets.get("OPENAI_API_KEY") == AMBIENT
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
