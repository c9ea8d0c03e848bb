"""The profiles of a home: made whole, copied without conversations, renamed everywhere or not at all, deleted for good."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agent.config import profiles
from agent.config.home import Home, HomeUnusable, NoSuchProfile, ProfileDeleted, find_home, launch_home
from agent.config.profile_lock import ProfileLock, ProfileOpen, nobody_has
from agent.config.profile_name import BadProfileName
from agent.config.profiles import NotForDefault, NotMoved, ProfileExists
from session.connection import PATIENCE_S, Patience
from session.db import SessionDB
from session.errors import UserError


@pytest.fixture
def base(tmp_path: Path) -> Home:
    return launch_home({"HERMES_HOME": str(tmp_path / "home")})


def environ(base: Home, name: str = "") -> dict[str, str]:
    return {"HERMES_HOME": str(base.of(name).root if name else base.root)}


def names(base: Home) -> list[str]:
    return [entry.name for entry in profiles.listing(base)]


def make_named_rows(path: Path, *rows: str, is_unique: bool = False) -> None:
    """A table that names its profile, as later versions of the store have them."""
    with sqlite3.connect(path) as db:
        db.execute(f"CREATE TABLE named (profile TEXT {'UNIQUE' if is_unique else ''})")
        db.executemany("INSERT INTO named VALUES (?)", [(row,) for row in rows])
    db.close()


def named_rows(path: Path) -> list[str]:
    db = sqlite3.connect(path)
    try:
        return [row for (row,) in db.execute("SELECT profile FROM named ORDER BY rowid")]
    finally:
        db.close()


@pytest.mark.parametrize("name", ["", "A", "-a", "_a", "a b", "a/b", "..", "é", "a" * 65, "a\n", "hermes", "sessions"])
def test_a_name_that_means_something_else_is_refused(base: Home, name: str):
    with pytest.raises(BadProfileName):
        profiles.create(base, name)
    assert not base.profiles.exists()


def test_a_new_profile_is_a_whole_home_of_its_own(base: Home):
    home = profiles.create(base, "work")
    assert (home.name, home.root, home.base) == ("work", base.root / "profiles/work", base)
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o700
    SessionDB.open(home.db).close()
    assert names(base) == ["default", "work"]
    with pytest.raises(ProfileExists):
        profiles.create(base, "work")


def test_its_home_tells_its_name_also_to_a_process_that_was_started_for_it(base: Home):
    profiles.create(base, "work")
    launch = launch_home(environ(base, "work"))
    assert (launch.name, launch.base.root) == ("work", base.root)
    assert find_home(environ(base, "work"), "default").root == base.root
    assert launch_home({"HERMES_HOME": str(base.root / "profiles/test")}).name == "default"


def test_a_copy_has_settings_keys_and_memories_but_no_conversations(base: Home):
    home = profiles.create(base, "work")
    (home.root / "config.yaml").write_text("probe_local: false\n")
    (home.root / ".env").write_text("A_KEY=abc\n")
    (home.root / ".env").chmod(0o644)
    (home.root / "SOUL.md").write_text("calm")
    (home.root / "memories").mkdir()
    (home.root / "memories/a.md").write_text("remembered")
    make_named_rows(home.db, "work")
    copy = profiles.clone(base, "work", "play")
    assert (copy.config.read_text(), copy.env.read_text()) == ("probe_local: false\n", "A_KEY=abc\n")
    assert stat.S_IMODE(copy.env.stat().st_mode) == 0o600
    assert ((copy.root / "SOUL.md").read_text(), (copy.root / "memories/a.md").read_text()) == ("calm", "remembered")
    with pytest.raises(sqlite3.OperationalError):
        named_rows(copy.db)
    assert find_home(environ(base), "play") == copy  # and it is not taken for a neighbour's


def test_a_copy_of_nothing_is_refused_and_leaves_nothing(base: Home):
    with pytest.raises(NoSuchProfile):
        profiles.clone(base, "nothere", "play")
    assert names(base) == ["default"]


def test_the_profile_in_use_is_what_a_plain_start_opens(base: Home):
    profiles.create(base, "work")
    profiles.use(base, "work")
    assert find_home(environ(base)).name == "work"
    assert find_home(environ(base), "default").name == "default"
    assert [entry.name for entry in profiles.listing(base) if entry.is_used] == ["work"]
    profiles.use(base, "default")
    assert find_home(environ(base)).name == "default"


def test_HERMES_HOME_in_a_profile_wins_over_the_one_in_use(base: Home):
    profiles.create(base, "work")
    profiles.create(base, "play")
    profiles.use(base, "play")
    assert find_home(environ(base, "work")).name == "work"


@pytest.mark.parametrize("written", [b"Not A Name\n", b"\xff\xfe", b"nothere"])
def test_what_stands_for_the_profile_in_use_is_never_guessed_around(base: Home, written: bytes):
    base.create()
    base.sticky.write_bytes(written)
    with pytest.raises((BadProfileName, HomeUnusable, NoSuchProfile)):
        find_home(environ(base))
    profiles.use(base, "default")
    assert find_home(environ(base)) == base


def test_a_rename_reaches_the_folder_every_store_and_the_one_in_use(base: Home):
    home = profiles.create(base, "work")
    other = profiles.create(base, "play")
    for path in (home.db, other.db):
        make_named_rows(path, "work", "work_2", "workk")
    profiles.use(base, "work")
    renamed = profiles.rename(base, "work", "office")
    assert names(base) == ["default", "office", "play"]
    for path in (renamed.db, other.db):
        assert named_rows(path) == ["office", "work_2", "workk"]
    assert find_home(environ(base)) == renamed


def test_a_rename_that_would_make_two_rows_the_same_changes_nothing(base: Home):
    home = profiles.create(base, "work")
    make_named_rows(home.db, "work")
    other = profiles.create(base, "play")
    make_named_rows(other.db, "work", "office", is_unique=True)
    with pytest.raises(UserError, match=f"{other.db}.*work.*office"):
        profiles.rename(base, "work", "office")
    assert (named_rows(home.db), named_rows(other.db)) == (["work"], ["work", "office"])
    assert names(base) == ["default", "play", "work"]


def test_a_rename_onto_a_profile_or_of_the_first_one_is_refused(base: Home):
    profiles.create(base, "work")
    profiles.create(base, "play")
    with pytest.raises(ProfileExists):
        profiles.rename(base, "work", "play")
    with pytest.raises(NotForDefault):
        profiles.rename(base, "default", "office")
    assert names(base) == ["default", "play", "work"]


def test_what_a_rename_left_is_finished_by_the_command_it_names_and_a_second_time_changes_nothing(base: Home):
    home = profiles.create(base, "work")
    make_named_rows(home.db, "work")
    other = profiles.create(base, "play")
    make_named_rows(other.db, "work")
    profiles.use(base, "work")
    profiles.move(base, "work", "office")  # and then the process died
    for _ in range(2):
        profiles.migrate_identity(base, "work", "office")
        assert named_rows(other.db) == named_rows(base.of("office").db) == ["office"]
        assert profiles.in_use(base) == "office"


def test_finishing_tells_every_store_in_the_way_and_does_the_others(base: Home, monkeypatch: pytest.MonkeyPatch):
    office = profiles.create(base, "office")
    make_named_rows(office.db, "work")
    taken = profiles.create(base, "play")
    make_named_rows(taken.db, "work", "office", is_unique=True)
    busy = profiles.create(base, "busy")
    make_named_rows(busy.db, "work")
    monkeypatch.setitem(PATIENCE_S, Patience.ROUTINE, 0.1)
    with holding(busy.db), pytest.raises(NotMoved) as told:
        profiles.migrate_identity(base, "work", "office")
    assert str(taken.db) in str(told.value)
    assert str(busy.db) in str(told.value)
    assert str(told.value).endswith("hermes profile migrate-identity work office")
    assert named_rows(office.db) == ["office"]


def holding(path: Path):
    """Another process in the middle of a write."""
    write = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('BEGIN IMMEDIATE')\n"
        "print(flush=True); sys.stdin.read()"
    )
    return OtherProcess(write, str(path))


class OtherProcess:
    """A second process that has done what it was told once this is entered, and ends when it is left."""

    def __init__(self, code: str, *arguments: str) -> None:
        self.given = [sys.executable, "-c", code, *arguments]

    def __enter__(self) -> subprocess.Popen[bytes]:
        self.process = subprocess.Popen(self.given, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.process.stdout.readline()
        return self.process

    def __exit__(self, *error: object) -> None:
        self.process.communicate(timeout=10)


@pytest.mark.parametrize(("old", "new", "refusal"), [("Bad", "office", BadProfileName), ("work", "no", NoSuchProfile)])
def test_finishing_asks_only_for_the_form_of_a_name_and_for_the_new_profile(base: Home, old: str, new: str, refusal):
    profiles.create(base, "office")
    profiles.migrate_identity(base, "never-was", "office")
    with pytest.raises(refusal):
        profiles.migrate_identity(base, old, new)


def test_a_deleted_profile_is_gone_until_it_is_made_anew(base: Home):
    home = profiles.create(base, "work")
    (home.root / ".env").write_text("A_KEY=abc\n")
    profiles.use(base, "work")
    profiles.delete(base, "work")
    assert (names(base), profiles.in_use(base)) == (["default"], "default")
    assert sorted(path.name for path in base.profiles.iterdir()) == [".deleted"]
    with pytest.raises(ProfileDeleted, match="profile create work"):
        find_home(environ(base), "work")
    with pytest.raises(ProfileDeleted):
        home.create()
    again = profiles.create(base, "work")
    assert not again.env.exists()
    assert find_home(environ(base), "work") == again


def test_a_deletion_that_was_cut_short_does_not_keep_its_name_for_ever(base: Home):
    home = profiles.create(base, "work")
    (home.root / "left").write_text("")
    home.tombstone.parent.mkdir()
    home.tombstone.touch()
    assert names(base) == ["default"]
    assert not (profiles.create(base, "work").root / "left").exists()


def test_a_profile_that_could_not_be_taken_away_is_still_there(base: Home, monkeypatch: pytest.MonkeyPatch):
    def busy(_path: Path, _target: Path) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")  # as where it is a mount

    profiles.create(base, "work")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", busy)
        with pytest.raises(HomeUnusable, match="busy"):
            profiles.delete(base, "work")
    assert names(base) == ["default", "work"]


def test_a_profile_whose_folder_is_a_link_is_deleted_with_what_it_leads_to(base: Home, tmp_path: Path):
    home, elsewhere = profiles.create(base, "work"), tmp_path / "elsewhere"
    home.root.rename(elsewhere)
    home.root.symlink_to(elsewhere)
    profiles.delete(base, "work")
    assert names(base) == ["default"]
    assert not elsewhere.exists()
    assert [entry.name for entry in base.profiles.iterdir()] == [".deleted"]


HOLD = (
    "import sys; from agent.profile import Profile\n"
    "profile = Profile.load({'HERMES_HOME': sys.argv[1]}, name='work'); print(flush=True); sys.stdin.read()"
)


@pytest.mark.parametrize(
    "move", [lambda base: profiles.delete(base, "work"), lambda base: profiles.rename(base, "work", "x")]
)
def test_a_profile_that_is_open_elsewhere_is_left_alone_and_its_process_is_named(base: Home, move):
    profiles.create(base, "work")
    with OtherProcess(HOLD, str(base.root)) as one, OtherProcess(HOLD, str(base.root)) as other:
        with pytest.raises(ProfileOpen) as told:
            move(base)
        assert str(one.pid) in str(told.value)
        assert str(other.pid) in str(told.value)
        assert names(base) == ["default", "work"]
    move(base)
    assert "work" not in names(base)


def test_a_process_that_was_killed_holds_nothing(base: Home):
    profiles.create(base, "work")
    with OtherProcess(HOLD, str(base.root)) as killed:
        killed.kill()
    profiles.delete(base, "work")
    assert names(base) == ["default"]


def test_who_opens_a_profile_while_it_is_being_moved_is_told_so(base: Home, monkeypatch: pytest.MonkeyPatch):
    home = profiles.create(base, "work")
    monkeypatch.setattr("agent.config.profile_lock.PATIENCE_S", 0.05)
    with nobody_has(home), pytest.raises(UserError, match="just being renamed or deleted"):
        ProfileLock.share(home)


def test_processes_that_start_at_once_all_get_a_share(base: Home):
    profiles.create(base, "work")
    code = HOLD.replace("; sys.stdin.read()", "")
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(base.root)], stdin=subprocess.DEVNULL) for _ in range(6)
    ]
    assert [process.wait(20) for process in started] == [0] * 6


def test_a_home_keeps_no_list_of_the_dead(base: Home):
    home = profiles.create(base, "work")
    for _ in range(3):
        ProfileLock.share(home).release()
    assert (home.locks / "profile.lock").read_bytes() == b"%d\n" % os.getpid()
