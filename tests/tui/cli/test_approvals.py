"""`hermes approvals test` says what would become of a command, and runs nothing."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def workspace(hermes):
    (hermes.cwd / "src").mkdir()
    return hermes


def judged(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_person_reads_the_verdict_and_each_part_within_80_columns(workspace):
    command = f"ls src && rm -rf {'x' * 100} > \x1b[2K"
    done = workspace.run("approvals", "test", command)
    lines = done.stdout.decode().splitlines()
    assert (done.returncode, lines[0]) == (0, "ask")
    assert "  allow  ls src" in workspace.run("approvals", "test", "ls src && rm d").stdout.decode()
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in done.stdout.decode()


def test_json_names_verdict_parts_argv_and_rules(workspace):
    [record] = judged(workspace.run("approvals", "test", "--json", "ls src && rm -rf d"))
    assert record["verdict"] == "ask"
    assert [(part["argv"], part["verdict"], part["rule"]) for part in record["parts"]] == [
        (["ls", "src"], "allow", "read-only"),
        (["rm", "-rf", "d"], "ask", "no rule"),
    ]
    assert [mark["kind"] for mark in record["marks"]] == ["delete"]


def test_lines_of_standard_input_are_judged_one_by_one(workspace):
    lines = b'{"cmd": "ls"}\n\n{"cmd": "rm -rf /"}\nnonsense\n{"cmd": "touch P"}\n{"cmd": 1}\n'
    done = workspace.run("approvals", "test", "--stdin", input=lines)
    records = judged(done)
    assert [record.get("verdict", "error") for record in records] == ["allow", "never", "error", "ask", "error"]
    assert all(set(record) == {"verdict", "parts", "marks"} for record in records if "error" not in record)
    assert done.returncode == 1


def test_nothing_is_run(workspace):
    for command in ("touch P", "ls; touch P", "echo $(touch P)", "git -c core.fsmonitor='touch P' status"):
        workspace.run("approvals", "test", command)
    assert list(workspace.cwd.iterdir()) == [workspace.cwd / "src"]


def test_no_command_is_a_mistake_in_one_sentence(workspace):
    done = workspace.run("approvals", "test")
    assert done.returncode == 1
    assert done.stderr.decode() == ("hermes: There is no command to judge. Name one: hermes approvals test 'ls -l'\n")


def test_another_folder_is_judged_by_its_own_files(workspace):
    outside = workspace.cwd / "src"
    (outside / "a").write_text("")
    [here] = judged(workspace.run("approvals", "test", "--json", "cat ../x", "--cwd", str(outside)))
    assert here["verdict"] == "ask"
    [inside] = judged(workspace.run("approvals", "test", "--json", "cat a", "--cwd", str(outside)))
    assert inside["verdict"] == "allow"


def test_rules_that_stand_are_listed_tested_and_taken_back(workspace):
    workspace.configure(
        approvals={"shell": {"allow": ["touch *"], "deny": ["git push *"]}},
        projects={str(workspace.cwd): {"approvals": {"edit": {"allow": ["src/**"]}}}},
    )
    listed = json.loads(workspace.run("approvals", "list", "--json").stdout)
    assert [(one["kind"], one["decision"], one["text"], one["source"]) for one in listed] == [
        ("shell", "allow", "touch *", "everywhere"),
        ("shell", "deny", "git push *", "everywhere"),
        ("edit", "allow", "src/**", "project"),
    ]
    lines = b'{"cmd": "touch a"}\n{"cmd": "nohup git push origin"}\n'
    tested = judged(workspace.run("approvals", "test", "--stdin", input=lines))
    assert [one["verdict"] for one in tested] == ["allow", "never"]
    for rule in ("touch *", "allow src/**"):
        assert workspace.run("approvals", "revoke", rule).returncode == 0
    assert b"deny git push *" in workspace.run("approvals", "list").stdout
    assert judged(workspace.run("approvals", "test", "--json", "touch a"))[0]["verdict"] == "ask"
    done = workspace.run("approvals", "revoke", "touch *")
    assert (done.returncode, done.stderr.decode()) == (
        1,
        "hermes: There is no rule touch *. `hermes approvals list` shows those there are.\n",
    )
