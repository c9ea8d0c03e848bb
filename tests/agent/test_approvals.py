"""What a person is asked, what they answer, and what becomes of it: through the hub, with a served model."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
import yaml

from agent.approvals.details import Details, decoded
from agent.approvals.inbox import Answer
from agent.approvals.shell_verdict import Decision, Mode
from agent.commands.approvals import approvals
from agent.commands.table import Page
from agent.events import CallStarted, Notice, RequestOpened, RequestSettled, TurnEnded
from session.models import Approval, ApprovalRequest, CallOutcome


def tool(name: str, id: str = "c1", **arguments: object) -> dict[str, object]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def shell(command: str, id: str = "c1", **more: object) -> dict[str, object]:
    return tool("terminal", id, command=command, **more)


def asked_in(turn) -> list[ApprovalRequest]:
    return [event.request for event in turn.events if isinstance(event, RequestOpened)]


async def approvals_of(bench, served, *commands: str, answer: Approval = Approval.DENIED) -> list[Approval]:
    """What became of some commands, each a turn's only call but for the last."""
    for at, command in enumerate(commands):
        served.reply(shell(command, f"c{at}"))
    served.reply(text="done")
    turn = await bench.ask("go", answer)
    return [result.approval for result, _ in turn.results]


async def opened(bench, prompt: str = "go") -> tuple[ApprovalRequest, Details]:
    if prompt:
        bench.hub.submit(bench.session_id, prompt)
    events = await bench.until(lambda event: isinstance(event, RequestOpened))
    request = next(event.request for event in events if isinstance(event, RequestOpened))
    return request, decoded(request.details)


async def ended(bench) -> list:
    return await bench.until(lambda event: isinstance(event, TurnEnded))


def results(bench) -> list[tuple[CallOutcome, Approval, str]]:
    return [(row.result.outcome, row.result.approval, row.content) for row in bench.rows if row.result]


@pytest.fixture
def config(home: Path) -> Path:
    return home / "config.yaml"


@pytest.fixture
def stored(bench):
    def read(column: str) -> list[object]:
        rows = bench.hub.profile.db.read(
            lambda tables: tables.connection.rows(f"SELECT {column} FROM approval_requests ORDER BY rowid")
        )
        return [row[0] for row in rows.result()]

    return read


# --- rules


@pytest.mark.parametrize("more_config", ["approvals: {shell: {allow: ['cd *', git status]}}"])
async def test_C01_what_hangs_on_an_allowed_head_is_asked_and_named(bench, served):
    commands = [
        "cd /tmp && python3 x.py", "git status; rm -rf d", "git status\nrm -rf d", "git status | sh",
        "git status & rm d", "git status || rm d", "git status $(rm d)", "git status `rm d`",
        "git status > ~/.bashrc", "git status <(rm d)",
    ]  # fmt: skip
    served.reply(*(shell(command, f"c{at}") for at, command in enumerate(commands)))
    served.reply(text="done")
    turn = await bench.ask("go", Approval.DENIED)
    asked = asked_in(turn)
    assert [request.shown for request in asked] == commands
    for request in asked:
        named = [part.text for part in decoded(request.details).parts if part.verdict is Decision.ASK]
        assert named and named != ["git status"] and request.why


@pytest.mark.parametrize("more_config", ["approvals: {shell: {allow: ['git *', 'grep *', 'cd *']}}"])
async def test_C02_where_every_part_is_allowed_nobody_is_asked(bench, served, workspace):
    (workspace / "src").mkdir()
    assert await approvals_of(bench, served, "cd src && git diff --stat | grep py") in (
        [Approval.NOT_ASKED],
        [Approval.ALLOWED_ALWAYS],
    )


@pytest.mark.parametrize("is_attended", [False])
@pytest.mark.parametrize("more_config", ["approvals: {shell: {allow: ['ls *']}}"])
async def test_C03_a_headless_run_denies_by_a_stated_rule_and_records_it(bench, served, workspace, stored):
    (workspace / "d").mkdir()
    denied = await approvals_of(bench, served, "ls d && touch d2", "touch d2 && ls d", "ls d")
    assert denied == [Approval.DENIED, Approval.DENIED, Approval.NOT_ASKED]
    assert stored("approval") == ["denied", "denied"]
    assert all("a headless run has nobody to ask" in cause and "runs touch" in cause for cause in stored("cause"))
    assert not (workspace / "d2").exists()


@pytest.mark.parametrize("more_config", ["approvals: {shell: {allow: ['git *', 'cd *'], ask: [git commit]}}"])
async def test_C04_options_and_other_spellings_hide_no_subcommand(bench, served):
    asked = [
        "git -C . commit -m x",
        "git --no-pager commit",
        "cd . && git commit",
        "command git commit",
        "\\git commit",
    ]
    assert await approvals_of(bench, served, *asked) == [Approval.DENIED] * len(asked)
    [approval] = await approvals_of(bench, served, "git -C . log")
    assert approval in (Approval.NOT_ASKED, Approval.ALLOWED_ALWAYS)


async def test_C05_git_starts_no_program_unasked(bench, served, workspace):
    commands = [
        "git -c core.pager='!touch P' log", "git -c alias.z='!touch P' z", "git grep -Otouch x",
        'git -c protocol.ext.allow=always clone "ext::sh -c touch% P"', "GIT_SSH_COMMAND='touch P' git fetch",
        "git --exec-path=/tmp status",
    ]  # fmt: skip
    assert await approvals_of(bench, served, *commands) == [Approval.DENIED] * len(commands)
    assert not (workspace / "P").exists()


@pytest.mark.parametrize("name", ["read_file", "write_file", "patch"])
async def test_C18_through_a_link_out_of_the_workspace_nothing_is_done_unasked(bench, served, workspace, name):
    out = workspace.parent / "out"
    out.mkdir()
    (out / "e.md").write_text("theirs\n")
    (workspace / "outbox").symlink_to(out)
    more = {"read_file": {}, "write_file": {"content": "x"}, "patch": {"old": "theirs", "new": "ours"}}[name]
    await bench.hub.runtime(bench.session_id).set_mode(Mode.ACCEPT_EDITS)
    served.reply(tool(name, path="outbox/e.md", **more))
    served.reply(text="done")
    turn = await bench.ask("go", Approval.DENIED)
    [request] = asked_in(turn)
    assert str(out / "e.md") in request.why
    assert (out / "e.md").read_text() == "theirs\n"


async def test_C18_what_stands_in_a_file_outside_is_told_to_nobody_before_the_yes(bench, served, workspace):
    """Whether a patch fits says what is in there."""
    (workspace.parent / "theirs").write_text("one\n")
    for at, old in enumerate(("one", "two")):
        served.reply(tool("patch", f"c{at}", path="../theirs", old=old, new="x"))
    served.reply(text="done")
    turn = await bench.ask("go", Approval.DENIED)
    assert len(asked_in(turn)) == 2
    assert len({text for _, text in turn.results}) == 1


@pytest.mark.parametrize("path", ["../../x", "{ws}/../x", "{ws}-evil/x", "/proc/self/cwd/../x", "~/x"])
async def test_C19_a_path_is_resolved_before_it_is_judged(bench, served, workspace, path):
    await bench.hub.runtime(bench.session_id).set_mode(Mode.ACCEPT_EDITS)
    served.reply(tool("write_file", path=path.replace("{ws}", str(workspace)), content="x"))
    served.reply(shell("ls", "c2", workdir=f"{workspace}/../../../root"))
    served.reply(text="done")
    turn = await bench.ask("go", Approval.DENIED)
    assert turn.results[0][0].approval is Approval.DENIED
    assert turn.results[1][0].outcome is not CallOutcome.OK
    assert not (workspace.parent / "x").exists()


# --- what is saved


async def test_C26_always_on_a_compound_saves_its_part_and_holds_at_once(bench, served, workspace, config):
    for folder in ("src", "lib"):
        (workspace / folder).mkdir()
    served.reply(shell("cd src && touch made"))
    served.reply(shell("cd lib && touch made", "c2"))
    served.reply(shell("cd src && touch other", "c3"))
    served.reply(text="done")
    request, details = await opened(bench)
    [[exact, *_]] = details.offers
    bench.hub.answer(request.id, Answer(Approval.ALLOWED_ALWAYS, rules=(exact.rule,)))
    request, _ = await opened(bench, "")
    assert request.shown == "cd src && touch other"
    bench.hub.answer(request.id, Answer(Approval.DENIED))
    await ended(bench)
    assert (workspace / "lib" / "made").exists()
    assert [approval for _, approval, _ in results(bench)] == [
        Approval.ALLOWED_ALWAYS, Approval.ALLOWED_ALWAYS, Approval.DENIED,
    ]  # fmt: skip
    saved = yaml.safe_load(config.read_text())["projects"]
    assert saved == {str(workspace): {"approvals": {"shell": {"allow": [exact.rule]}}}}


async def test_what_is_saved_everywhere_leaves_all_else_in_the_file_as_it_is(bench, served, config):
    before = config.read_text() + "# mine\napprovals: {timeout: 0}  # never\n"
    config.write_text(before)
    served.reply(shell("touch a"))
    served.reply(text="done")
    request, details = await opened(bench)
    bench.hub.answer(
        request.id, Answer(Approval.ALLOWED_ALWAYS, rules=(details.offers[0][-1].rule,), is_everywhere=True)
    )
    await ended(bench)
    text = config.read_text()
    assert "# mine" in text and "# never" in text
    assert yaml.safe_load(text)["approvals"] == {"timeout": 0, "shell": {"allow": ["touch *"]}}


@pytest.mark.parametrize("more_config", ["approvals: {shell: {allow: ['touch a', 'touch b']}}"])
async def test_an_entry_removed_by_hand_is_asked_about_again_and_stays_removed(bench, served, config, stored):
    assert await approvals_of(bench, served, "touch a") == [Approval.ALLOWED_ALWAYS]
    config.write_text(config.read_text().replace("'touch a', ", ""))
    served.reply(shell("touch a", "c1"))
    served.reply(shell("touch c", "c2"))
    served.reply(text="done")
    request, _ = await opened(bench)
    assert request.shown == "touch a"
    bench.hub.answer(request.id, Answer(Approval.ALLOWED_ONCE))
    request, _ = await opened(bench, "")
    bench.hub.answer(request.id, Answer(Approval.ALLOWED_ALWAYS, rules=("= touch c",), is_everywhere=True))
    await ended(bench)
    assert yaml.safe_load(config.read_text())["approvals"]["shell"]["allow"] == ["touch b", "= touch c"]
    assert stored("rules") == ["", "= touch c"]


async def test_a_rule_that_was_not_offered_is_not_saved(bench, served, config):
    before = config.read_text()
    served.reply(shell("rm -rf d"))
    served.reply(text="done")
    request, details = await opened(bench)
    assert details.offers == () and not details.may_save and details.marks
    bench.hub.answer(request.id, Answer(Approval.ALLOWED_ALWAYS, rules=("rm *",)))
    await ended(bench)
    assert results(bench)[0][1] is Approval.ALLOWED_SESSION
    assert config.read_text() == before


async def test_where_a_rule_cannot_be_saved_it_holds_for_the_session_and_that_is_said_and_recorded(
    bench, served, config, stored
):
    config.write_text(config.read_text() + "approvals: [\n")
    for at in range(2):
        served.reply(shell(f"touch a{at}", f"c{at}"))
    served.reply(text="done")
    request, _ = await opened(bench)
    bench.hub.answer(request.id, Answer(Approval.ALLOWED_ALWAYS, rules=("touch *",)))
    await ended(bench)
    assert [approval for _, approval, _ in results(bench)] == [Approval.ALLOWED_SESSION] * 2
    assert stored("approval") == ["allowed_session"]
    assert any("allowed for this session only" in row.content for row in bench.rows)


async def test_a_rule_for_the_session_is_listed_taken_back_and_no_other_session_has_it(bench, served, config):
    before = config.read_text()
    for at in range(2):
        served.reply(shell(f"touch a{at}", f"c{at}"))
    served.reply(text="done")
    request, _ = await opened(bench)
    bench.hub.answer(request.id, Answer(Approval.ALLOWED_SESSION, rules=("touch *",)))
    await ended(bench)
    assert [approval for _, approval, _ in results(bench)] == [Approval.ALLOWED_SESSION] * 2
    assert config.read_text() == before
    page = await approvals(bench.hub, bench.session_id, "")
    assert isinstance(page, Page) and "1  shell: allow touch *  (this session)" in page.markdown
    assert "gone" in (await approvals(bench.hub, bench.session_id, "revoke 1")).text
    assert await approvals_of(bench, served, "touch a2") == [Approval.DENIED]


async def test_an_offer_says_how_many_of_the_latest_commands_it_would_have_allowed(bench, served):
    await approvals_of(bench, served, "touch a", "touch b && ls", "touch c; rm c", "ls")
    served.reply(shell("touch d"))
    served.reply(text="done")
    request, details = await opened(bench)
    assert {offer.rule: offer.covers for offer in details.offers[0]} == {
        "= touch d": 1, "touch d": 1, "touch *": 3,
    }  # fmt: skip
    bench.hub.answer(request.id, Answer(Approval.DENIED))
    await ended(bench)


@pytest.mark.parametrize("more_config", ["approvals: {edit: {allow: [src/**]}}"])
async def test_C27_a_rule_for_a_folder_is_none_for_its_namesake_elsewhere(bench, served, workspace):
    served.reply(tool("write_file", "c1", path="src/a.py", content="x"))
    served.reply(tool("write_file", "c2", path="vendor/src/a.py", content="x"))
    served.reply(text="done")
    turn = await bench.ask("go", Approval.DENIED)
    assert [result.approval for result, _ in turn.results] == [Approval.ALLOWED_ALWAYS, Approval.DENIED]
    assert turn.results[0][0].cause == "allow src/**"
    assert not (workspace / "vendor").exists()


# --- what is shown


async def test_a_change_is_shown_before_it_is_made_and_only_that_change_is(bench, served, workspace):
    (workspace / "a.txt").write_text("one\n")
    served.reply(tool("read_file", "c0", path="a.txt"))
    served.reply(tool("patch", "c1", path="a.txt", old="one", new="two"))
    served.reply(text="done")
    request, details = await opened(bench)
    assert (details.path, details.before, details.after) == (str(workspace / "a.txt"), "one\n", "two\n")
    (workspace / "a.txt").write_text("one more\n")
    bench.hub.answer(request.id, Answer(Approval.ALLOWED_ONCE))
    await ended(bench)
    assert results(bench)[1][0] is CallOutcome.ERROR
    assert (workspace / "a.txt").read_text() == "one more\n"


async def test_a_change_that_fits_nowhere_is_not_asked_about(bench, served, workspace):
    (workspace / "a.txt").write_text("one\n")
    served.reply(tool("patch", path="a.txt", old="three", new="two"))
    served.reply(text="done")
    turn = await bench.ask("go")
    assert asked_in(turn) == [] and turn.results[0][0].outcome is CallOutcome.NOT_RUN


async def test_C30_a_script_that_was_just_written_is_shown_with_its_content(bench, served, workspace):
    await bench.hub.runtime(bench.session_id).set_mode(Mode.ACCEPT_EDITS)
    served.reply(tool("write_file", "c0", path="x.sh", content="rm f\n"))
    served.reply(shell("sh x.sh", "c1"))
    served.reply(shell("python3 -c \"import os;os.remove('f')\"", "c2"))
    served.reply(text="done")
    request, details = await opened(bench)
    assert [script.text for script in details.scripts] == ["rm f\n"]
    bench.hub.answer(request.id, Answer(Approval.DENIED))
    request, details = await opened(bench, "")
    assert [mark.kind for mark in details.marks] == ["code"]
    bench.hub.answer(request.id, Answer(Approval.DENIED))
    await ended(bench)


@pytest.mark.parametrize("more_config", ["approvals: {shell: {allow: [sh go.sh]}}"])
async def test_C30_a_rule_for_a_script_does_not_cover_what_a_command_made_of_it(bench, served, workspace):
    (workspace / "go.sh").write_text("true\n")
    bench.session_id = bench.hub.create(workspace).id
    served.reply(shell("sh go.sh", "c1"))
    served.reply(shell("echo touch evil | tee go.sh", "c2"))
    served.reply(shell("sh go.sh", "c3"))
    served.reply(text="done")
    turn = await bench.ask("go", Approval.ALLOWED_ONCE)
    told = [result.approval for result, _ in turn.results]
    assert told == [Approval.ALLOWED_ALWAYS, Approval.ALLOWED_ONCE, Approval.ALLOWED_ONCE]


@pytest.mark.parametrize("more_config", ["approvals: {shell: {allow: [sh go.sh]}}"])
async def test_C30_a_rule_or_a_yes_for_the_session_does_not_cover_a_script_that_changed_unrecorded(
    bench, served, workspace
):
    for name in ("go.sh", "own.sh"):
        (workspace / name).write_text("true\n")
    bench.session_id = bench.hub.create(workspace).id
    told = []
    for round_ in range(2):
        for at, name in enumerate(("go.sh", "own.sh", "go.sh", "own.sh")):
            served.reply(shell(f"sh {name}", f"c{round_}{at}"))
        served.reply(text="done")
        turn = await bench.ask("go", Approval.ALLOWED_SESSION)
        told.append([asked.shown for asked in asked_in(turn)])
        for name in ("go.sh", "own.sh"):  # as a job behind its call does, or where git ignores it
            (workspace / name).write_text("evil\n")
    assert told == [["sh own.sh"], ["sh go.sh", "sh own.sh"]]


async def test_C30_a_script_that_changes_while_it_is_asked_about_is_asked_about_again(bench, served, workspace):
    (workspace / "go.sh").write_text("true\n")
    served.reply(shell("sh go.sh", "c1"))
    served.reply(text="done")
    request, _ = await opened(bench)
    (workspace / "go.sh").write_text("touch evil\n")
    bench.hub.answer(request.id, Answer(Approval.ALLOWED_ONCE))
    request, details = await opened(bench, "")
    assert [script.text for script in details.scripts] == ["touch evil\n"]
    bench.hub.answer(request.id, Answer(Approval.DENIED))
    await ended(bench)
    assert not (workspace / "evil").exists()


# --- answers


async def test_a_denial_with_words_is_told_as_the_persons_own(bench, served, stored):
    served.reply(shell("touch a"))
    served.reply(text="All right.")
    request, _ = await opened(bench)
    bench.hub.answer(request.id, Answer(Approval.DENIED, reason="use the makefile"))
    await ended(bench)
    assert stored("cause") == ["the person said: use the makefile"]
    told = served.requests[-1]["messages"][-1]["content"]
    assert told.startswith("Not run: denied, because the person said: use the makefile.")


async def test_an_edited_command_runs_as_it_was_edited_and_the_model_is_told(bench, served, workspace, stored):
    served.reply(shell("touch a"))
    served.reply(text="All right.")
    request, details = await opened(bench)
    assert details.command == "touch a"
    bench.hub.answer(request.id, Answer(Approval.ALLOWED_ONCE, edited="touch b"))
    events = await ended(bench)
    assert [path.name for path in workspace.iterdir()] == ["b"]
    assert [event.shown for event in events if isinstance(event, CallStarted)] == ["touch b"]
    assert "The person changed the command before it ran. This is what ran:\ntouch b" in results(bench)[0][2]
    assert (stored("edited"), stored("approval")) == (["touch b"], ["allowed_once"])


@pytest.mark.parametrize("more_config", ["approvals: {shell: {deny: ['git push *']}}"])
@pytest.mark.parametrize("edited", ["git push", "rm -rf /"])
async def test_an_edited_command_is_judged_anew(bench, served, edited):
    served.reply(shell("touch a"))
    served.reply(text="All right.")
    request, _ = await opened(bench)
    bench.hub.answer(request.id, Answer(Approval.ALLOWED_ALWAYS, rules=("touch *",), edited=edited))
    await ended(bench)
    [(outcome, _, text)] = results(bench)
    assert outcome is CallOutcome.NOT_RUN and "What the person made of this command may not run" in text


async def test_a_danger_that_an_edit_brings_in_is_shown_before_it_runs(bench, served, workspace):
    (workspace / "d").mkdir()
    served.reply(shell("touch a"))
    served.reply(text="All right.")
    request, _ = await opened(bench)
    bench.hub.answer(request.id, Answer(Approval.ALLOWED_ONCE, edited="rm -rf d"))
    second, details = await opened(bench, "")
    assert second.id != request.id and second.shown == "rm -rf d" and details.marks
    bench.hub.answer(second.id, Answer(Approval.ALLOWED_ONCE))
    await ended(bench)
    assert not (workspace / "d").exists()


@pytest.mark.parametrize("answer", [Approval.ALLOWED_SESSION, Approval.ALLOWED_ALWAYS])
async def test_a_yes_to_a_protected_file_holds_for_that_call_alone(bench, served, workspace, answer):
    for at in range(2):
        served.reply(tool("write_file", f"c{at}", path="AGENTS.md", content="x"))
    served.reply(text="done")
    await bench.hub.runtime(bench.session_id).set_mode(Mode.YOLO)
    turn = await bench.ask("go", answer)
    assert len(asked_in(turn)) == 2
    assert [result.approval for result, _ in turn.results] == [Approval.ALLOWED_ONCE] * 2


# --- modes


async def test_C29_plan_mode_refuses_writers_and_says_why(bench, served, workspace):
    await bench.hub.runtime(bench.session_id).set_mode(Mode.PLAN)
    served.reply(
        *(shell(command, f"c{at}") for at, command in enumerate(("touch P", "rm P", "cat > P <<E\nx\nE"))),
        tool("write_file", "c9", path="P", content="x"),
        shell("ls", "c10"),
    )
    served.reply(text="done")
    turn = await bench.ask("go", Approval.ALLOWED_ONCE)
    assert asked_in(turn) == [] and not (workspace / "P").exists()
    assert all("plan mode" in text for _, text in turn.results[:4])
    assert turn.results[4][0].outcome is CallOutcome.OK


@pytest.mark.parametrize("more_config", ["approvals: {shell: {allow: ['git *'], deny: ['git push *']}}"])
async def test_C32_a_denied_command_is_denied_in_every_form_also_in_yolo(bench, served):
    await bench.hub.runtime(bench.session_id).set_mode(Mode.YOLO)
    denied = await approvals_of(bench, served, "nohup git push origin x", "touch a", answer=Approval.ALLOWED_ONCE)
    assert denied == [Approval.DENIED, Approval.NOT_ASKED]
    assert [row.result.cause for row in bench.rows if row.result][1] == "yolo"


async def test_C28_a_change_of_mode_withdraws_the_question_and_a_late_yes_does_nothing(bench, served, workspace):
    served.reply(shell("touch made"))
    served.reply(text="done")
    request, _ = await opened(bench)
    await bench.hub.runtime(bench.session_id).set_mode(Mode.PLAN)
    assert bench.hub.answer(request.id, Answer(Approval.ALLOWED_ONCE)) is False
    events = await ended(bench)
    settled = next(event for event in events if isinstance(event, RequestSettled))
    assert (settled.approval, settled.cause) == (Approval.CANCELLED, "the mode changed to plan")
    assert not (workspace / "made").exists() and "plan mode" in results(bench)[0][2]


async def test_C28_what_the_new_mode_lets_run_runs_once(bench, served, workspace):
    served.reply(shell("echo ran >> made"))
    served.reply(text="done")
    request, _ = await opened(bench)
    await bench.hub.runtime(bench.session_id).set_mode(Mode.YOLO)
    assert bench.hub.answer(request.id, Answer(Approval.ALLOWED_ONCE)) is False
    await ended(bench)
    assert (workspace / "made").read_text() == "ran\n"


@pytest.mark.parametrize(("mode", "after"), [(Mode.YOLO, Mode.ASK), (Mode.PLAN, Mode.PLAN)])
async def test_yolo_never_outlives_its_process_and_other_modes_do(bench, served, open_bench, mode, after):
    served.reply(text="Hello.")
    await bench.ask("hi")
    await bench.hub.runtime(bench.session_id).set_mode(mode)
    again = await open_bench()
    runtime = await again.hub.open(bench.session_id)
    assert runtime.mode is after
    told = [event.text for event in again.listener.drain() if isinstance(event, Notice)]
    assert any("yolo mode when hermes ended" in text for text in told) is (mode is Mode.YOLO)
    assert bench.hub.runtime(bench.session_id).mode is mode


async def test_a_branch_starts_in_ask(bench, served):
    served.reply(text="Hello.")
    await bench.ask("hi")
    await bench.hub.runtime(bench.session_id).set_mode(Mode.YOLO)
    db, last = bench.hub.profile.db, bench.rows[-1].id
    branch = db.write(lambda tables: tables.lineage.branch(bench.session_id, last, "branch", 1.0)).result()
    assert (branch.mode, (await bench.hub.open("branch")).mode) == ("", Mode.ASK)


async def test_after_a_kill_the_question_is_asked_again_with_the_same_details_and_nothing_has_run(
    bench, served, open_bench, workspace
):
    (workspace / "x.sh").write_text("touch made\n")
    served.reply(shell("sh x.sh"))
    served.reply(text="It ran.")
    request, details = await opened(bench)
    db = bench.hub.profile.db
    db.write(lambda tables: tables.connection.run("DELETE FROM leases")).result()  # its process is gone
    (workspace / "x.sh").write_text("touch other\n")
    again = await open_bench()
    again.session_id = bench.session_id
    await again.hub.open(bench.session_id)
    same, shown = await opened(again, "")
    assert (same.id, same.shown, shown) == (request.id, request.shown, details)
    assert [script.text for script in shown.scripts] == ["touch made\n"]
    assert not (workspace / "made").exists()


async def test_two_sessions_do_not_share_what_was_allowed(bench, served):
    assert await approvals_of(bench, served, "touch a", answer=Approval.ALLOWED_SESSION) == [Approval.ALLOWED_SESSION]
    bench.session_id = bench.hub.create(bench.workspace).id
    assert await approvals_of(bench, served, "touch a") == [Approval.DENIED]


async def test_nothing_here_holds_the_loop_up(bench, served):
    """A long command is judged in a thread."""
    served.reply(shell("; ".join(f"touch a{at}" for at in range(400))))
    served.reply(text="done")
    gaps, last = [], time.thread_time()  # the work of this thread alone: others share the machine
    bench.hub.submit(bench.session_id, "go")
    while not bench.hub.pending():
        await asyncio.sleep(0)
        now = time.thread_time()
        gaps.append(now - last)
        last = now
    assert max(gaps) < 1
    bench.hub.interrupt(bench.session_id)
    await ended(bench)
