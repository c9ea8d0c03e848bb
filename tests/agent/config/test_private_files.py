"""What a home holds is for its owner only, whatever the umask and whatever it was before."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.config.home import Home
from agent.config.private_files import tighten_env, tighten_home
from agent.profile import Profile


def modes(root: Path) -> dict[str, int]:
    return {str(path.relative_to(root)): stat.S_IMODE(path.stat().st_mode) for path in (root, *root.rglob("*"))}


def open_ones(root: Path) -> list[str]:
    return [name for name, mode in modes(root).items() if mode & 0o077]


@pytest.fixture(params=[0o022, 0o000])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
async def test_nothing_in_a_new_home_is_open_to_others(tmp_path: Path):
    from tui.cli.log_file import open_log

    root = logging.getLogger()
    handlers = root.handlers[:]
    home = tmp_path / "home"
    profile = Profile.load({"HERMES_HOME": str(home)})
    try:
        open_log(profile.home, profile.secrets.mask)
        await profile.secrets.save("A_KEY", "a-key")
        profile.db.write(lambda tables: tables.state.put("a", "b")).result()
        assert {".", ".env", "state.db", "state.db-wal", "state.db-shm", "logs/hermes.log"} <= modes(home).keys()
        assert open_ones(home) == []
    finally:
        root.handlers[:] = handlers
        profile.close()


def test_a_home_that_was_open_is_closed(tmp_path: Path):
    home = tmp_path / "home"
    Profile.load({"HERMES_HOME": str(home)}).close()
    (home / ".env").write_text("A_KEY=abc\n")
    (home / "logs" / "hermes.log").write_text("")
    (home / "state.db-wal").touch()
    for name in modes(home).keys() - {"locks/profile.lock"}:  # in which there is nothing
        (home / name).chmod(0o777)
    profile = Profile.load({"HERMES_HOME": str(home)})
    try:
        assert open_ones(home) == []
        assert [problem.sentence.split(": ")[1] for problem in profile.problems] == [
            "other users of this machine could read it until now; it is closed to them, but its keys may be known to them."
        ]
    finally:
        profile.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_belongs_to_another_user_is_told_and_left(tmp_path: Path):
    env = tmp_path / ".env"
    env.write_text("A_KEY=abc\n")
    env.chmod(0o644)
    os.chown(env, 12345, -1)
    (problem,) = tighten_env(env, "~/.env")
    assert problem.sentence == "~/.env: other users of this machine can read it; run: chmod 600 ~/.env"
    assert stat.S_IMODE(env.stat().st_mode) == 0o644


def test_a_folder_that_holds_more_than_a_home_is_told_and_left(tmp_path: Path):
    """HERMES_HOME may name /tmp: closing that would shut out everybody else."""
    tmp_path.chmod(0o1777)
    (problem,) = tighten_home(Home(tmp_path, "~/x"))
    assert problem.sentence == "~/x: other users of this machine can read it; run: chmod 700 ~/x"
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777
