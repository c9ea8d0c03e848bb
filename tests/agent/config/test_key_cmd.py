"""Keys that come from a command: asked for when needed, kept for their time, and never a word of what it printed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from agent.config import key_cmd
from agent.config.key_cmd import KeyCommand, NoKey
from agent.config.locked_file import NotSaved
from agent.config.secrets import Secrets

KEY = "sk-test-0123456789"
SETTING = "providers.work.key_cmd"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


Make = Callable[..., Secrets]


@pytest.fixture
def secrets_of(tmp_path: Path, clock: Clock) -> Make:
    def make(command: str | tuple[str, ...], environ: dict[str, str] | None = None, **values: str) -> Secrets:
        asked = KeyCommand(SETTING, command, ttl_s=300)
        path = "/usr/local/bin:/usr/bin:/bin"
        return Secrets(
            values, {"PATH": path, **(environ or {})}, path=tmp_path / ".env", commands={"A_KEY": asked}, clock=clock
        )

    return make


async def test_a_key_is_kept_for_its_time_and_then_asked_for_anew(secrets_of: Make, clock: Clock, tmp_path: Path):
    secrets = secrets_of("echo x >> runs; printf 'key-%s-of-this-test\\n' $(wc -l < runs)")
    assert (secrets.get("A_KEY"), secrets.has("A_KEY")) == (None, True)
    for now, key in ((0, "key-1-of-this-test"), (299, "key-1-of-this-test"), (300, "key-2-of-this-test")):
        clock.now = now
        assert await secrets.fresh("A_KEY") == key
        assert secrets.get("A_KEY") == key
    secrets.outdate("A_KEY")
    assert await secrets.fresh("A_KEY") == "key-3-of-this-test"
    assert secrets.mask("key-1-of-this-test key-3-of-this-test") == "[A_KEY] [A_KEY]"


async def test_sessions_that_ask_at_once_run_the_command_once(secrets_of: Make, tmp_path: Path):
    secrets = secrets_of("echo x >> runs; sleep 0.1; echo a-key")
    assert set(await asyncio.gather(*(secrets.fresh("A_KEY") for _ in range(5)))) == {"a-key"}
    assert (tmp_path / "runs").read_text() == "x\n"


async def test_the_command_wins_over_the_file(secrets_of: Make):
    secrets = secrets_of(("echo", "from the command"), A_KEY="from the file")
    assert secrets.get("A_KEY") is None
    assert await secrets.fresh("A_KEY") == "from the command"
    with pytest.raises(NotSaved, match=SETTING):
        await secrets.save("A_KEY", "saved")


async def test_it_gets_the_environment_and_the_file_of_its_own_profile(
    secrets_of: Make, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AMBIENT", "of the process")
    secrets = secrets_of('echo "$FROM_ENV/$FROM_FILE/$AMBIENT/$PATH"', {"FROM_ENV": "1"}, FROM_FILE="2", PATH="/evil")
    assert await secrets.fresh("A_KEY") == "1/2///usr/local/bin:/usr/bin:/bin"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (f"echo {KEY}; exit 3", "ended with exit code 3"),
        (f"echo {KEY}; kill -9 $$", "was killed"),
        (f"echo {KEY} >&2", "printed nothing"),
        (f"echo {KEY}; echo {KEY}", "more than one line"),
        (f"printf '{KEY}\\377'", "no text"),
        (f"yes {KEY}", "more than one line"),
        (("no-such-program-here", KEY), "could not be started"),
        (("echo\0", KEY), "could not be started"),
    ],
)
async def test_a_failure_is_one_sentence_without_what_was_printed(
    secrets_of: Make, command: str | tuple[str, ...], why: str, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.DEBUG), pytest.raises(NoKey) as raised:
        await secrets_of(command, A_KEY="an old key in the file").fresh("A_KEY")
    told = str(raised.value)
    assert told.startswith(f"No key came from {SETTING}: the command ")
    assert why in told
    assert KEY not in told + caplog.text


async def test_a_key_that_cannot_be_renewed_is_not_used_on(secrets_of: Make, clock: Clock, tmp_path: Path):
    secrets = secrets_of("cat key-file")
    (tmp_path / "key-file").write_text("a-key")
    assert await secrets.fresh("A_KEY") == "a-key"
    (tmp_path / "key-file").unlink()
    clock.now = 300
    with pytest.raises(NoKey):
        await secrets.fresh("A_KEY")
    assert secrets.get("A_KEY") is None


def running(mark: str) -> list[int]:
    return [one.pid for one in psutil.process_iter(["cmdline"]) if mark in " ".join(one.info["cmdline"] or [])]


@pytest.mark.parametrize("how", ["timeout", "cancel"])
async def test_a_command_that_hangs_is_ended_with_all_it_started(
    secrets_of: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
):
    monkeypatch.setattr(key_cmd, "TIMEOUT_S", 0.4 if how == "timeout" else 20)
    mark = f"30{time.time_ns() % 10_000_000}"
    task = asyncio.create_task(secrets_of(f"sleep {mark} & touch up; sleep {mark}").fresh("A_KEY"))
    async with asyncio.timeout(15):
        while not (tmp_path / "up").exists():
            await asyncio.sleep(0.01)
        if how == "cancel":
            task.cancel()
        with pytest.raises(NoKey if how == "timeout" else asyncio.CancelledError):
            await task
        while running(mark):
            await asyncio.sleep(0.02)
