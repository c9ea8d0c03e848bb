"""The home folder: found, made for its owner only, and never taken from a neighbour."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.config.home import HomeUnusable, NeighboursHome, find_home, launch_home


def snapshot(folder: Path) -> dict[str, tuple[float, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_mode) for path in (folder, *folder.rglob("*"))}


def test_the_default_is_our_own_folder_not_the_neighbours(tmp_path: Path):
    home = find_home({"HOME": str(tmp_path)})
    assert (home.root, home.shown) == (tmp_path / ".hermes-tui", "~/.hermes-tui")


@pytest.mark.parametrize("named", ["{}/h", "~/h", "  ~/h "])
def test_HERMES_HOME_names_another(tmp_path: Path, named: str):
    home = find_home({"HOME": str(tmp_path), "HERMES_HOME": named.format(tmp_path)})
    assert (home.root, home.shown) == (tmp_path / "h", "~/h")


def test_without_HOME_the_user_database_is_asked():
    assert launch_home({}).root.name == ".hermes-tui"


def test_looking_makes_nothing(tmp_path: Path):
    find_home({"HOME": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []


def test_it_is_made_for_its_owner_only(tmp_path: Path):
    before = os.umask(0)
    try:
        home = find_home({"HERMES_HOME": str(tmp_path / "a" / "b")})
        home.create()
        home.create_folders()
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (home.root, home.logs, home.locks, home.outputs)}
    assert modes == {"b": 0o700, "logs": 0o700, "locks": 0o700, "outputs": 0o700}


def test_a_home_without_a_database_but_with_the_neighbours_files_is_refused_untouched(tmp_path: Path):
    (tmp_path / "SOUL.md").write_text("soul")
    (tmp_path / "config.yaml").write_text("model: {default: x}")
    for name in ("skills", "memories", "cron"):
        (tmp_path / name).mkdir()
    before = snapshot(tmp_path)
    with pytest.raises(NeighboursHome, match=r"hermes-agent \(SOUL.md, cron, memories\)\. Nothing was changed"):
        find_home({"HERMES_HOME": str(tmp_path)})
    assert snapshot(tmp_path) == before


def test_one_familiar_name_does_not_make_it_the_neighbours(tmp_path: Path):
    (tmp_path / "sessions").mkdir()
    (tmp_path / "config.yaml").write_text("model: {default: x}")
    assert find_home({"HERMES_HOME": str(tmp_path)}).root == tmp_path


@pytest.mark.parametrize("kind", ["file", "below a file", "loop", "nul"])
def test_something_else_in_its_place_is_one_sentence(tmp_path: Path, kind: str):
    path = tmp_path / "h"
    match kind:
        case "loop":
            path.symlink_to(path)
        case "nul":
            path = tmp_path / "a\0b"
        case _:
            path.write_text("")
    named = str(path / "deep") if kind == "below a file" else str(path)
    with pytest.raises(HomeUnusable, match=r"can't be used .* Correct that, or set HERMES_HOME"):
        find_home({"HERMES_HOME": named}).create()


@pytest.mark.parametrize("mode", [0o000, 0o500, 0o300])
def test_a_home_that_may_not_be_read_or_written_is_one_sentence(tmp_path: Path, mode: int):
    folder = tmp_path / "h"
    folder.mkdir()
    if os.geteuid() != 0:
        folder.chmod(mode)
        with pytest.raises(HomeUnusable):
            find_home({"HERMES_HOME": str(folder)})
        folder.chmod(0o700)
        return
    # root may do everything, so someone else has to look
    nobody = 65534
    os.chown(folder, nobody, nobody)
    folder.chmod(mode)
    for parent in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        parent.chmod(0o755)
    look = (
        "import os, sys; from agent.config.home import HomeUnusable, find_home\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try: find_home({'HERMES_HOME': sys.argv[1]})\n"
        "except HomeUnusable as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", look, str(folder)], capture_output=True, text=True, timeout=20)
    assert "can't be used" in done.stdout, done.stderr
