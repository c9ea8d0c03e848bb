"""Nothing that a project brings acts before it was shown, and only as it was shown."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest

from agent.config.files import LIMIT_BYTES
from agent.config.project_files import CONFIG, ENV
from agent.config.trust import Standing, Trust
from agent.config.trust_state import UnreadableTrust

TEXT = "agent: {max_turns: 7}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "trust.json"


@pytest.fixture
def trust(state: Path) -> Trust:
    return Trust(state)


def make_project(folder: Path, text: str = TEXT) -> Path:
    (folder / ".hermes").mkdir(parents=True)
    (folder / CONFIG).write_text(text)
    return folder


def standings(trust: Trust, project: Path) -> dict[str, Standing]:
    return {acting.path: acting.standing for acting in trust.would_act(project)}


def test_C25_a_file_acts_once_it_is_trusted(trust: Trust, project: Path) -> None:
    assert trust.trusted_text(project, CONFIG) is None
    trust.add(project)
    assert trust.trusted_text(project, CONFIG) == TEXT


def test_C25_a_changed_file_is_inert_until_it_is_shown_again(trust: Trust, project: Path) -> None:
    trust.add(project)
    (project / CONFIG).write_text(TEXT + "display: {theme: dark}\n")
    assert trust.trusted_text(project, CONFIG) is None
    assert standings(trust, project) == {CONFIG: Standing.CHANGED}
    trust.add(project)
    assert trust.trusted_text(project, CONFIG) is not None


def test_C25_a_file_that_came_later_is_inert(trust: Trust, project: Path) -> None:
    trust.add(project)
    (project / ENV).write_text("A=b\n")
    assert trust.trusted_text(project, ENV) is None
    assert standings(trust, project) == {CONFIG: Standing.TRUSTED, ENV: Standing.NEW}


def test_C25_what_changes_while_it_is_looked_at_is_not_trusted(trust: Trust, project: Path) -> None:
    """The person said yes to what was shown, not to what is there by then."""
    shown = trust.would_act(project)
    (project / CONFIG).write_text("providers: {evil: {base_url: 'http://evil'}}\n")
    trust.add(project, shown)
    assert trust.trusted_text(project, CONFIG) is None


def test_a_removed_folder_is_untrusted_at_once(trust: Trust, project: Path) -> None:
    trust.add(project)
    assert trust.remove(project)
    assert trust.trusted_text(project, CONFIG) is None
    assert not trust.remove(project)


def test_a_trusted_parent_does_not_trust_what_lies_in_it(trust: Trust, project: Path) -> None:
    child = make_project(project / "vendor")
    trust.add(project)
    assert trust.trusted_text(child, CONFIG) is None


def test_folders_of_like_names_are_not_mixed_up(trust: Trust, tmp_path: Path) -> None:
    names = ("my-app", "my_app", "my.app", "my app", "my-app ", "MY-APP", "my-äpp", "my-a\u0308pp")
    folders = [make_project(tmp_path / "w" / name) for name in names]
    for folder in folders:
        trust.add(folder)
        assert [other for other in folders if trust.trusted_text(other, CONFIG)] == [folder]
        trust.remove(folder)


def test_a_folder_is_known_by_its_real_path(trust: Trust, project: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(project)
    trust.add(link)
    assert list(trust.listing()) == [project.resolve()]
    assert trust.trusted_text(project, CONFIG) == TEXT
    link.unlink()
    link.symlink_to(make_project(tmp_path / "other"))
    assert trust.trusted_text(link, CONFIG) is None


def test_a_folder_whose_name_is_no_text_can_be_trusted(trust: Trust, tmp_path: Path) -> None:
    try:
        folder = make_project(tmp_path / os.fsdecode(b"caf\xe9"))
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    trust.add(folder)
    assert trust.trusted_text(folder, CONFIG) == TEXT
    assert list(trust.listing()) == [folder.resolve()]


def test_T19_a_byte_order_mark_is_no_part_of_the_text(trust: Trust, project: Path) -> None:
    (project / CONFIG).write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    trust.add(project)
    assert trust.trusted_text(project, CONFIG) == TEXT


def test_a_link_inside_the_project_is_followed(trust: Trust, project: Path) -> None:
    (project / "AGENTS.md").write_text("be brief\n")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    trust.add(project)
    assert trust.trusted_text(project, "CLAUDE.md") == "be brief\n"


@pytest.mark.parametrize("is_folder_link", [True, False], ids=["folder", "file"])
def test_a_link_out_of_the_project_is_refused(
    trust: Trust, project: Path, tmp_path: Path, *, is_folder_link: bool
) -> None:
    outside = make_project(tmp_path / "outside")
    (project / CONFIG).unlink()
    if is_folder_link:
        (project / ".hermes").rmdir()
        (project / ".hermes").symlink_to(outside / ".hermes")
    else:
        (project / CONFIG).symlink_to(outside / CONFIG)
    assert standings(trust, project)[CONFIG] is Standing.REFUSED
    trust.add(project)
    assert trust.trusted_text(project, CONFIG) is None


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_folder(path: Path) -> None:
    path.mkdir()


def make_large(path: Path) -> None:
    path.write_bytes(b"#" * (LIMIT_BYTES + 1))


def make_binary(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00")


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_locked(path: Path) -> None:
    path.write_text("x")
    path.chmod(0)


@pytest.mark.parametrize("make", [make_pipe, make_device, make_folder, make_large, make_binary, make_loop])
def test_what_is_no_small_text_file_is_refused_at_once(trust: Trust, project: Path, make: object) -> None:
    (project / CONFIG).unlink()
    assert callable(make)
    make(project / CONFIG)
    assert standings(trust, project) == {CONFIG: Standing.REFUSED}
    trust.add(project)
    assert trust.trusted_text(project, CONFIG) is None


def test_a_project_whose_hermes_folder_is_a_file_brings_nothing(trust: Trust, tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / ".hermes").write_text("x")
    assert trust.would_act(tmp_path / "p") == ()
    assert trust.trusted_text(tmp_path / "p", CONFIG) is None


def test_the_home_of_hermes_agent_in_the_personal_folder_is_no_project(trust: Trust, project: Path) -> None:
    (project / ".hermes" / "state.db").touch()
    assert trust.would_act(project) == ()


def test_our_own_home_in_a_project_is_no_file_of_the_project(project: Path) -> None:
    """HERMES_HOME=PROJECT/.hermes"""
    trust = Trust(project / ".hermes" / "trust.json")
    assert trust.would_act(project) == ()
    trust.add(project)
    assert trust.trusted_text(project, CONFIG) is None


# --- what is recorded


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", "null", '{"version": 2, "folders": {}}', '{"folders": {"/": 1}}', "[" * 99_999]
)
def test_a_damaged_record_trusts_nothing_says_so_and_is_never_written_over(
    trust: Trust, project: Path, state: Path, damage: str
) -> None:
    trust.add(project)
    state.write_text(damage)
    assert trust.trusted_text(project, CONFIG) is None
    assert "No project is trusted" in trust.flaw
    for change in (trust.add, trust.remove):
        with pytest.raises(UnreadableTrust):
            change(project)
    assert state.read_text() == damage


def test_a_record_that_others_may_write_counts_for_nothing(trust: Trust, project: Path, state: Path) -> None:
    trust.add(project)
    state.chmod(0o666)
    assert trust.trusted_text(project, CONFIG) is None
    assert "chmod 600" in trust.flaw


def test_the_record_is_for_its_owner_only(trust: Trust, project: Path, state: Path) -> None:
    before = os.umask(0)
    try:
        trust.add(project)
    finally:
        os.umask(before)
    assert stat.S_IMODE(state.stat().st_mode) == 0o600


def test_two_that_write_at_once_lose_nothing(state: Path, tmp_path: Path) -> None:
    folders = [make_project(tmp_path / f"p{number}") for number in range(16)]

    def add(mine: list[Path]) -> None:
        trust = Trust(state)
        for folder in mine:
            trust.add(folder)

    threads = [threading.Thread(target=add, args=(folders[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(Trust(state).listing()) == sorted(folder.resolve() for folder in folders)


def test_trust_for_one_run_is_not_recorded(trust: Trust, project: Path, state: Path) -> None:
    trust.add_for_this_run(project)
    assert trust.trusted_text(project, CONFIG) == TEXT
    assert not state.exists()
    assert Trust(state).trusted_text(project, CONFIG) is None


BROUGHT = {
    CONFIG: "config",
    ENV: "env",
    ".hermes/personalities/nice.md": "personality",
    ".hermes/hooks/start.sh": "hook",
    ".hermes/hooks/on-turn/HOOK.yaml": "hook",
    ".hermes/hooks/on-turn/handler.py": "hook",
    ".hermes.md": "instructions",
    "HERMES.md": "instructions",
    "AGENTS.md": "instructions",
    "CLAUDE.md": "instructions",
    ".cursorrules": "instructions",
    ".cursor/rules/style.mdc": "instructions",
}


def test_C25_all_that_a_project_brings_is_listed_and_recorded_file_by_file(trust: Trust, project: Path) -> None:
    for path in BROUGHT:
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text("x: y\n")
    (project / "README.md").write_text("nothing reads this")
    assert {acting.path: acting.kind for acting in trust.would_act(project)} == BROUGHT
    trust.add(project)
    assert set(standings(trust, project).values()) == {Standing.TRUSTED}
    for path in BROUGHT:
        (project / path).write_text("x: z\n")
    assert set(standings(trust, project).values()) == {Standing.CHANGED}


def test_hooks_that_lie_deep_or_elsewhere_are_never_listed_so_never_trusted(
    trust: Trust, project: Path, tmp_path: Path
) -> None:
    (project / ".hermes/hooks/a/b/c").mkdir(parents=True)
    (project / ".hermes/hooks/a/b/deep.sh").write_text("x")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "evil.sh").write_text("x")
    (project / ".hermes/hooks/link").symlink_to(tmp_path / "elsewhere")
    assert standings(trust, project) == {CONFIG: Standing.NEW, ".hermes/hooks/link": Standing.REFUSED}


def test_the_remark_counts_what_would_act_but_may_not(trust: Trust, project: Path) -> None:
    said = "This folder brings 1 file that would act; it is ignored. See /trust, or hermes trust add in a shell."
    assert trust.ignored(project) == said
    trust.add(project)
    assert trust.ignored(project) == ""


def test_values_of_a_env_are_in_no_representation(trust: Trust, project: Path) -> None:
    (project / ENV).write_text("KEY=sk-very-secret\n")
    acting = trust.would_act(project)
    assert "sk-very-secret" not in repr(acting)
    assert "sk-very-secret" not in json.dumps([item.does for item in acting])
