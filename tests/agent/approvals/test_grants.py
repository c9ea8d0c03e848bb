"""The rules that stand: read from the file as it is now, and written without touching anything else in it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from agent.approvals.grants import Grants
from agent.approvals.standing import Kind, Source, Standing
from agent.config.load import load_settings


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


@pytest.fixture
def grants_of(config: Path):
    """As each process has its own."""

    def make() -> Grants:
        def read():
            return load_settings(config, "config.yaml")

        return Grants(config, "config.yaml", read().settings, read)

    return make


def texts(grants: Grants, root: Path, session_id: str = "s") -> list[str]:
    return [one.text for one in grants.held(session_id, root).standing]


def test_a_rule_holds_in_every_process_at_its_next_look(grants_of, tmp_path):
    one, other = grants_of(), grants_of()
    one.save(Kind.SHELL, ["= npm test"], tmp_path, is_everywhere=True)
    assert texts(one, tmp_path) == texts(other, tmp_path) == ["= npm test"]


def test_a_rule_of_one_project_holds_in_no_other_one(grants_of, tmp_path):
    grants = grants_of()
    (tmp_path / "link").symlink_to(tmp_path / "a.b")
    (tmp_path / "a.b").mkdir()
    grants.save(Kind.EDIT, ["src/**"], tmp_path / "a.b", is_everywhere=False)
    assert texts(grants, tmp_path / "link") == ["src/**"]
    assert texts(grants, tmp_path) == []


def test_two_processes_that_save_at_once_lose_nothing(grants_of, tmp_path):
    rules = [f"= make t{number}" for number in range(8)]
    savers = [
        threading.Thread(target=grants_of().save, args=(Kind.SHELL, [rule], tmp_path), kwargs={"is_everywhere": True})
        for rule in rules
    ]
    for saver in savers:
        saver.start()
    for saver in savers:
        saver.join()
    assert sorted(texts(grants_of(), tmp_path)) == rules


def test_what_was_removed_by_hand_is_not_written_back(grants_of, config, tmp_path):
    grants = grants_of()
    grants.save(Kind.SHELL, ["ls *", "git status"], tmp_path, is_everywhere=True)
    config.write_text(config.read_text().replace("ls *, ", ""))
    grants.save(Kind.SHELL, ["pwd"], tmp_path, is_everywhere=True)
    assert texts(grants, tmp_path) == ["git status", "pwd"]


def test_taking_a_rule_back_leaves_the_others_and_the_comments(grants_of, config, tmp_path):
    config.write_text("# mine\napprovals:\n  shell:\n    allow: [ls *, git status]  # both\n")
    grants = grants_of()
    assert grants.revoke(
        "s", tmp_path, Standing(Kind.SHELL, grants.held("s", tmp_path).standing[0].decision, "ls *", Source.EVERYWHERE)
    )
    assert texts(grants, tmp_path) == ["git status"]
    assert "# mine" in config.read_text() and "# both" in config.read_text()
    [left] = grants.held("s", tmp_path).standing
    assert grants.revoke("s", tmp_path, left)
    assert not grants.revoke("s", tmp_path, left)
    assert texts(grants, tmp_path) == []


def test_while_the_file_is_broken_the_last_rules_stay_and_nothing_is_certain_where_there_are_none(
    grants_of, config, tmp_path
):
    config.write_text("approvals: {shell: {deny: [git push], allow: [ls *]}}\n")
    grants = grants_of()
    config.write_text("approvals: {shell: [\n")
    held = grants.held("s", tmp_path)
    assert [one.text for one in held.standing] == ["ls *", "git push"] and held.is_certain
    assert not grants_of().held("s", tmp_path).is_certain


def test_what_a_session_was_allowed_ends_with_it(grants_of, tmp_path):
    grants = grants_of()
    grants.allow("s", Kind.SHELL, ["ls *"])
    grants.note_written("s", [tmp_path])
    assert texts(grants, tmp_path) == ["ls *"] and texts(grants, tmp_path, "other") == []
    grants.forget("s")
    held = grants.held("s", tmp_path)
    assert (held.standing, held.written) == ((), frozenset())
