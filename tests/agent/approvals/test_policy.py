"""What runs unasked, what never runs, and the reason given where a person is asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.approvals.policy import judge
from agent.approvals.shell_verdict import Decision, Mode
from agent.approvals.standing import NOTHING_HELD, Kind, Source, Standing, held
from agent.approvals.verdict import Allow, Ask, Refuse
from agent.tools.base import Touch, Workplace
from agent.tools.registry import TOOLS, definitions
from session.models import Approval


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    root = tmp_path.resolve() / "ws"
    root.mkdir()
    home = tmp_path.resolve() / "person"
    home.mkdir()
    environ = {"HOME": str(home), "PATH": os.defpath}
    return Workplace(root, root, environ, tmp_path / "outputs", home=tmp_path / "hermes")


def rules(*written: str, kind: Kind = Kind.SHELL, source: Source = Source.EVERYWHERE, is_certain: bool = True):
    """`deny git push *` and such."""
    parted = (text.partition(" ") for text in written)
    standing = [Standing(kind, Decision(decision), rule, source) for decision, _, rule in parted]
    return held(standing, is_certain=is_certain)


def verdict(place: Workplace, name: str, mode: Mode = Mode.ASK, held=NOTHING_HELD, **args: object):
    return judge(name, TOOLS[name].touches(args, place), place, held, mode)


def write(place: Workplace, path: str, mode: Mode = Mode.ASK, held=NOTHING_HELD):
    return verdict(place, "write_file", mode, held, path=path, content="x")


def shell(place: Workplace, command: str, mode: Mode = Mode.ASK, held=NOTHING_HELD, **args: object):
    return verdict(place, "terminal", mode, held, command=command, **args)


# --- files

READERS = (("read_file", {}), ("search_files", {"pattern": "x"}))


def test_reading_inside_the_workspace_is_allowed(place):
    for name, args in (("read_file", {"path": "a/b"}), ("list_files", {"path": "."})):
        assert verdict(place, name, **args) == Allow()


@pytest.mark.parametrize("path", ["../x", "~/x", "/etc/passwd", "file:///etc/passwd", "../ws-evil/x"])
def test_C19_reading_outside_asks_and_names_the_real_path(place, path):
    [real] = TOOLS["read_file"].touches({"path": path}, place).reads
    found = verdict(place, "read_file", path=path)
    assert isinstance(found, Ask) and found.why == f"reads a file outside the workspace ({real})"
    assert found.details.offers == ()


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.YOLO])
@pytest.mark.parametrize("path", [".env", "deploy/id_rsa", "server.pem", ".env.local", "~/.ssh/id_ed25519"])
def test_C30_a_file_that_looks_like_a_secret_asks_each_time_as_it_does_in_the_shell(place, path, mode):
    asked = [verdict(place, name, mode, path=path, **more) for name, more in READERS]
    assert all("looks like a secret" in found.why and found.details.is_once for found in asked)
    for command in (f"cat {path}", f"wc -l < {path}", f"cd . && head -1 {path}", f"timeout 5 cat {path}"):
        found = shell(place, command, mode, rules("allow cat *", "allow head *"))
        assert isinstance(found, Ask) and found.details.is_once and not found.details.offers, command


@pytest.mark.parametrize("path", [".env.example", ".env.sample", ".env.template", "id_rsa.pub", "src/secrets.py"])
def test_a_file_that_only_has_the_name_of_a_secret_is_read_unasked(place, path):
    assert [verdict(place, name, path=path, **more) for name, more in READERS] == [Allow(), Allow()]
    assert shell(place, f"cat {path}; wc -l < {path}") == Allow()


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/1/environ", "/proc/self/task/1/environ"])
def test_C30_the_environment_of_a_process_is_a_secret_in_yolo_too(place, path):
    asked = [verdict(place, name, Mode.YOLO, path=path, **more) for name, more in READERS]
    asked += [shell(place, f"cat {path}", Mode.YOLO), shell(place, f"head -c 99 < {path}", Mode.YOLO)]
    assert all(isinstance(found, Ask) and found.details.is_once for found in asked)


def test_writing_asks_and_says_so_when_outside(place):
    assert write(place, "src/a.py").why == "writes a file"
    outside = place.root.parent / "x"
    assert write(place, "../x").why == f"writes a file outside the workspace ({outside})"


def test_a_write_offers_the_file_and_its_folder(place):
    offers = write(place, "src/a.py").details.offers
    assert [[offer.rule for offer in part] for part in offers] == [["src/a.py", "src/**"]]
    assert write(place, "../x").details.offers == ()


@pytest.mark.parametrize("name", ["read_file", "write_file"])
def test_C18_a_symlink_out_of_the_workspace_asks(place, name):
    out = place.root.parent / "out"
    out.mkdir()
    (place.root / "outbox").symlink_to(out)
    args = {"content": ""} if name == "write_file" else {}
    assert f"outside the workspace ({out / 'e.md'})" in verdict(place, name, path="outbox/e.md", **args).why
    edits = Mode.ACCEPT_EDITS
    assert isinstance(verdict(place, name, edits, rules("allow **", kind=Kind.EDIT), path="outbox/e.md", **args), Ask)


@pytest.mark.parametrize(
    "path",
    [
        "AGENTS.md", "sub/claude.md", "SOUL.md", ".cursorrules", ".git/hooks/pre-commit", ".git/config", ".GIT/config",
        ".env", ".env.local", "~/.bashrc", "~/.ssh/authorized_keys", "../hermes/config.yaml", ".hermes/config.yaml",
        "~/.config/autostart/x.desktop", ".hermes.md", "HERMES.md", ".cursor/rules/a.mdc", "~/.local/share/systemd/user/x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", [Mode.ASK, Mode.ACCEPT_EDITS, Mode.YOLO])
def test_a_protected_file_is_asked_about_once_in_every_mode_and_whatever_is_allowed(place, path, mode):
    (place.root.parent / "hermes").mkdir()
    found = write(place, path, mode, rules("allow **", kind=Kind.EDIT))
    assert isinstance(found, Ask) and found.details.is_once and not found.details.may_save


@pytest.mark.parametrize(
    "path", ["/etc/hosts", "/boot/x", "/usr/lib/x", "/proc/self/mem", "/var/run/../../etc/x", "/var/spool/cron/x"]
)
@pytest.mark.parametrize("mode", [Mode.ASK, Mode.YOLO])
def test_a_file_of_the_system_is_never_written(place, path, mode):
    found = write(place, path, mode)
    assert isinstance(found, Refuse) and "belongs to the system" in found.why


def test_accept_edits_lets_changes_of_the_workspace_run_and_nothing_else(place):
    edits = Mode.ACCEPT_EDITS
    assert write(place, "src/a.py", edits) == Allow("accept-edits", changes=True)
    assert isinstance(write(place, "../x", edits), Ask)
    assert isinstance(shell(place, "touch a", edits), Ask)


def test_C27_a_rule_for_src_is_none_for_another_src(place):
    held = rules("allow src/**", kind=Kind.EDIT)
    assert write(place, "src/a.py", held=held) == Allow("allow src/**", Approval.ALLOWED_ALWAYS, changes=True)
    assert isinstance(write(place, "vendor/src/a.py", held=held), Ask)


def test_C32_a_rule_that_forbids_a_file_wins_over_all_that_allows_it(place):
    held = rules("allow **", "deny src/secret/*", "ask src/old.py", kind=Kind.EDIT)
    for mode in Mode:
        assert write(place, "./src/x/../secret/a", mode, held).rule == "deny src/secret/*"
    assert "ask src/old.py" in write(place, "src/old.py", Mode.ACCEPT_EDITS, held).why


def test_what_was_cut_from_an_output_may_be_read_back(place):
    log = place.outputs / "terminal-1.log"
    assert judge("read_file", Touch(reads=(log,)), place) == Allow()
    assert isinstance(judge("write_file", Touch(writes=(log,)), place), Ask)


@pytest.mark.parametrize("root", ["/", "home", "above"])
def test_the_home_folder_and_what_holds_it_are_no_workspace_in_which_anything_runs_unasked(place, root):
    home = Path(place.environ["HOME"])
    wide = replace(place, root={"/": Path("/"), "home": home, "above": home.parent}[root], cwd=home)
    assert "too much" in verdict(wide, "read_file", path="a").why
    assert "too much" in write(wide, "a", Mode.ACCEPT_EDITS).why
    assert isinstance(shell(wide, "ls"), Ask) and "too much" in shell(wide, "pwd").why
    assert isinstance(shell(wide, "ls", Mode.YOLO), Allow)
    # Where all of the machine is the workspace, its programs are no better than what lies in one.
    assert isinstance(shell(wide, "touch a", held=rules("allow touch *")), Ask if root == "/" else Allow)


# --- commands


def test_a_command_that_only_reads_runs_and_changes_nothing(place):
    assert shell(place, "ls -l && git status") == Allow()


def test_C01_the_part_that_is_not_allowed_is_named(place):
    found = shell(place, "git status; rm -rf d", held=rules("allow git status"))
    assert isinstance(found, Ask) and "runs rm" in found.why and "git" not in found.why
    assert [part.text for part in found.details.parts if part.verdict is Decision.ASK] == ["rm -rf d"]
    assert [mark.kind for mark in found.details.marks] == ["delete"] and not found.details.may_save


def test_a_command_in_a_folder_outside_asks(place):
    ssh = Path(place.environ["HOME"]) / ".ssh"
    ssh.mkdir()
    for command in ("ls", "pwd", "echo"):
        assert f"outside the workspace ({ssh})" in shell(place, command, workdir=str(ssh)).why
    (place.root / "sub").mkdir()
    assert shell(place, "ls", workdir="sub") == Allow()


def test_C26_a_compound_offers_rules_for_the_part_that_lacks_one(place):
    details = shell(place, "cd src && touch a").details
    assert [[offer.rule for offer in part] for part in details.offers] == [["= touch a", "touch a", "touch *"]]
    assert details.may_save and details.command == "cd src && touch a"


def test_by_whose_word_a_rule_allows_is_told(place):
    session, always = rules("allow touch *", source=Source.SESSION), rules("allow touch *")
    assert shell(place, "touch a", held=session) == Allow("allow touch *", Approval.ALLOWED_SESSION, changes=True)
    assert shell(place, "touch a", held=always) == Allow("allow touch *", Approval.ALLOWED_ALWAYS, changes=True)


@pytest.mark.parametrize("mode", [*Mode])
def test_C32_deny_wins_over_allow_in_every_form_and_mode(place, mode):
    held = rules("deny git push *", "allow git *", "allow nohup *")
    for command in ("nohup git push origin x", "git -C . push", "ls && git push", "sh -c 'git push'"):
        found = shell(place, command, mode, held)
        assert isinstance(found, Refuse) and "git push" in found.why


@pytest.mark.parametrize("mode", [*Mode])
def test_the_floor_never_gives_way(place, mode):
    found = shell(place, "rm -rf /", mode, rules("allow rm *"))
    assert isinstance(found, Refuse) and found.rule == "floor"


@pytest.mark.parametrize("command", ["touch P", "rm P", "cat > P <<E\nx\nE", "./unknown"])
def test_C29_plan_mode_refuses_what_writes(place, command):
    found = shell(place, command, Mode.PLAN, rules("allow touch *"))
    assert isinstance(found, Refuse) and "plan mode" in found.why
    assert isinstance(write(place, "P", Mode.PLAN, rules("allow **", kind=Kind.EDIT)), Refuse)
    assert shell(place, "ls", Mode.PLAN) == Allow()


def test_C30_a_script_that_would_run_is_shown_with_its_content(place):
    (place.root / "x.sh").write_text("rm -r f\n")
    for command in ("sh x.sh", "./x.sh", "cd . && bash ./x.sh -v"):
        assert [one.text for one in shell(place, command).details.scripts] == ["rm -r f\n"]
    for command in ("rm x.sh", "touch x.sh", "mv x.sh y.sh"):
        assert not shell(place, command).details.scripts
    assert isinstance(shell(place, 'python3 -c "import os;os.remove(1)"', held=rules("deny rm *")), Ask)


def test_C30_a_rule_for_a_script_does_not_cover_one_that_the_session_wrote(place):
    held_ = rules("allow = sh x.sh")
    assert isinstance(shell(place, "sh x.sh", held=held_), Allow)
    assert (
        "which this session wrote"
        in shell(place, "sh x.sh", held=replace(held_, written=frozenset([place.root / "x.sh"]))).why
    )


def test_while_the_settings_cannot_be_read_nothing_is_looser(place):
    unsure = rules(is_certain=False)
    assert isinstance(shell(place, "touch a", Mode.YOLO, unsure), Ask)
    assert isinstance(write(place, "a", Mode.ACCEPT_EDITS, unsure), Ask)
    assert isinstance(shell(place, "touch a", Mode.PLAN, unsure), Refuse)


# --- others


def test_a_fetch_asks_by_host(place):
    def fetch(host: str, mode: Mode = Mode.ASK, *written: str):
        return judge("web_fetch", Touch(hosts=(host,)), place, rules(*written, kind=Kind.WEB), mode)

    found = fetch("docs.python.org")
    assert found.why == "fetches from docs.python.org" and found.details.offers[0][0].rule == "docs.python.org"
    assert isinstance(fetch("docs.python.org", Mode.ASK, "allow *.python.org"), Allow)
    assert isinstance(fetch("python.org", Mode.ASK, "allow *.python.org"), Ask)
    assert isinstance(fetch("evilpython.org", Mode.ASK, "allow *.python.org"), Ask)
    assert isinstance(fetch("docs.python.org", Mode.YOLO, "allow *.python.org", "deny docs.python.org"), Refuse)


def test_a_tool_that_touches_nothing_is_allowed_while_it_does(place):
    assert verdict(place, "todo", items=[]) == Allow()
    assert isinstance(judge("todo", Touch(reads=(place.root / "a",)), place), Ask)


def test_what_is_not_known_asks(place):
    assert judge("mystery", Touch(reads=(place.root / "a",)), place) == Ask("uses mystery, a tool without a rule")
    assert isinstance(judge("read_file", Touch(), place), Ask)
    assert isinstance(judge("mystery", Touch(), place, mode=Mode.PLAN), Refuse)


def test_every_tool_has_a_rule_and_is_named_in_the_chat_shape(place):
    named = {entry["function"]["name"] for entry in definitions()}
    assert named == set(TOOLS)
    unknown = {name for name in named if "without a rule" in getattr(judge(name, Touch(), place), "why", "")}
    assert unknown <= {"ask_user", "terminal", "web_fetch"}  # a question is put, the others always touch something


def test_what_a_command_writes_is_protected_by_the_file_that_it_leads_to(place):
    (place.root / "AGENTS.md").write_text("")
    (place.root / "x").symlink_to("AGENTS.md")
    for command in ("echo y > x", "echo y > ../hermes/config.yaml", "tee .git/info/attributes"):
        found = shell(place, command, Mode.YOLO, rules("allow tee *", "allow echo *"))
        assert isinstance(found, Ask) and found.details.is_once


def test_a_yes_to_a_delete_of_what_nobody_knows_holds_once(place):
    found = shell(place, 'rm -rf "$x"', Mode.YOLO)
    assert isinstance(found, Ask) and found.details.is_once and not found.details.offers
