"""A rewind takes back what was said and what it did to files, or one of the two, and can be taken back itself."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent.checkpoints.plan import Did
from agent.commands.table import Opened
from agent.events import RowsReplaced
from agent.rewinding import NothingToBranch, Scope, WentOn
from agent.session_run import SessionBusy
from agent.turn_lease import BusyElsewhere
from session.errors import NotAPrompt, NothingToUndo, SaidSinceRewind, TitleTaken
from session.models import Kind

SCRIPTED = """
rm gone.txt; mv src lib; rmdir empty; mkdir -p a/b; printf hi > a/b/c; chmod 600 lib/main.py; chmod 755 notes.txt
mv old-name.txt new-name.txt; ln -sfn lib latest; printf '\\377\\000' > raw.bin; printf more >> 'sp ace.txt'
"""


def furnish(root: Path) -> None:
    (root / "src").mkdir()
    (root / "empty").mkdir()
    (root / "src" / "main.py").write_text("print('one')\n")
    for name in ("gone.txt", "notes.txt", "old-name.txt", "sp ace.txt"):
        (root / name).write_text(f"{name}\n")
    (root / "raw.bin").write_bytes(bytes(range(256)))
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "latest").symlink_to("src/main.py")


@pytest.mark.parametrize("is_git", [True, False], ids=["git", "no git"])
async def test_a_rewind_restores_a_workspace_byte_for_byte_and_its_undo_brings_it_back(
    work: Any, workspace: Path, look: Any, is_git: bool
) -> None:
    """Edits by tools, then what shell commands created, deleted, renamed, linked and gave other modes."""
    if is_git:
        subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    furnish(workspace)
    before = look(workspace)
    await work.does(
        "edit it",
        ("read_file", {"path": "src/main.py"}),
        ("patch", {"path": "src/main.py", "old": "one", "new": "two"}),
        ("write_file", {"path": "src/new/deep.py", "content": "x = 1\n"}),
    )
    edited, said_then = look(workspace), work.said
    await work.shell("turn it over", SCRIPTED)
    await work.shell(
        "and once more", "rm -r a/b; printf file > a/b; rm run.sh; chmod 700 lib; printf x > lib/new/deep.py"
    )
    after, said = look(workspace), work.said
    assert len({str(before), str(edited), str(after)}) == 3

    seen = await work.preview("turn it over")
    assert (seen.plan.conflicts, seen.problem) == ((), "")
    await work.bench.hub.rewind(work.id, seen, Scope.BOTH)
    assert (look(workspace), work.said, await work.stored()) == (edited, said_then, said_then)

    outcome = await work.rewind("edit it")
    assert (look(workspace), work.said, outcome.failed) == (before, [], ())

    await work.undo()
    assert (look(workspace), work.said) == (edited, said_then)
    outcome = await work.undo()
    assert (look(workspace), work.said, await work.stored()) == (after, said, said)
    assert outcome.failed == ()
    with pytest.raises(NothingToUndo):
        await work.undo()


async def test_the_preview_says_what_would_happen_and_changes_nothing(work: Any, repository: Path, look: Any) -> None:
    furnish(repository)
    (repository / ".gitignore").write_text("*.log\n")
    (repository / "build.log").write_text("ignored")
    await work.shell("go", "rm gone.txt; echo new > made.txt; echo more >> notes.txt; echo x >> build.log")
    before = look(repository)
    seen = await work.preview("go")
    assert {did: [file.path for file in seen.plan.that(did)] for did in Did} == {
        Did.CREATED: ["made.txt"],
        Did.DELETED: ["gone.txt"],
        Did.MODIFIED: ["notes.txt"],
    }
    assert ("build.log" in {one.path for one in seen.plan.uncovered}, seen.rows, seen.text) == (True, 4, "go")
    assert (look(repository), len(work.said)) == (before, 2)


async def test_a_conflict_is_left_alone_unless_it_is_ticked(work: Any, repository: Path) -> None:
    await work.shell("go", "echo 1 > a; echo 1 > b; echo 1 > c")
    (repository / "a").write_text("by hand\n")
    (repository / "b").write_text("by hand\n")
    seen = await work.preview("go")
    assert [file.path for file in seen.plan.conflicts] == ["a", "b"]
    outcome = await work.bench.hub.rewind(work.id, seen, Scope.BOTH, ("b",))
    assert sorted(path.name for path in repository.iterdir() if path.name != ".git") == ["a"]
    assert ((repository / "a").read_text(), [one.path for one in outcome.failed]) == ("by hand\n", ["a"])
    await work.undo()
    assert [(repository / name).read_text() for name in "abc"] == ["by hand\n", "by hand\n", "1\n"]
    assert [file.path for file in (await work.preview("go")).plan.conflicts] == ["a", "b"]  # it is no less theirs now


async def test_the_conversation_alone_goes_back_and_files_stay(work: Any, repository: Path) -> None:
    await work.shell("go", "echo 1 > a")
    outcome = await work.rewind("go", Scope.CONVERSATION)
    assert (work.said, (repository / "a").exists(), outcome.done) == ([], True, ())
    await work.undo()
    assert (len(work.said), (repository / "a").exists()) == (2, True)


async def test_files_alone_go_back_and_the_conversation_stays(work: Any, repository: Path) -> None:
    await work.shell("first", "echo 1 > a")
    await work.rewind("first", Scope.CONVERSATION)
    await work.shell("second", "echo 1 > b")
    said = work.said
    await work.rewind("second", Scope.FILES)
    assert (work.said, (repository / "a").exists(), (repository / "b").exists()) == (said, True, False)
    await work.undo()
    assert (work.said, (repository / "b").exists()) == (said, True)
    with pytest.raises(SaidSinceRewind):  # what is left to undo is the first one
        await work.undo()


async def test_undo_after_something_was_said_changes_neither_rows_nor_files(
    work: Any, repository: Path, look: Any
) -> None:
    await work.shell("first", "echo 1 > a")
    await work.rewind("first")
    await work.shell("second", "echo 1 > b")
    before, said = look(repository), work.said
    with pytest.raises(SaidSinceRewind):
        await work.undo()
    assert (look(repository), work.said) == (before, said)
    await work.rewind("second")
    await work.undo()
    assert (look(repository), work.said) == (before, said)


async def test_a_file_changed_by_hand_since_a_rewind_is_left_alone_by_its_undo(work: Any, repository: Path) -> None:
    await work.shell("go", "echo 1 > a; echo 1 > b")
    await work.rewind("go")
    (repository / "a").write_text("by hand\n")
    outcome = await work.undo()
    assert [one.path for one in outcome.failed] == ["a"]
    assert [(repository / name).read_text() for name in "ab"] == ["by hand\n", "1\n"]
    with pytest.raises(NothingToUndo):
        await work.undo()


async def test_nothing_goes_back_to_an_answer_or_by_what_was_shown_of_another_conversation(
    work: Any, repository: Path, look: Any
) -> None:
    await work.shell("first", "echo 1 > a")
    with pytest.raises(NotAPrompt):
        await work.bench.hub.rewind_preview(work.id, work.bench.rows[-1].id)
    seen = await work.preview("first")
    await work.shell("second", "echo 2 > a")
    before, said = look(repository), work.said
    with pytest.raises(WentOn):
        await work.bench.hub.rewind(work.id, seen, Scope.BOTH)
    assert (look(repository), work.said) == (before, said)


async def test_a_turn_here_or_in_another_process_is_not_pulled_the_rows_from_under(
    work: Any, served: Any, open_bench: Any
) -> None:
    await work.does("first")
    other = await open_bench()
    await other.hub.open(work.id)
    seen, theirs = await work.preview("first"), await other.hub.rewind_preview(work.id, work.prompt("first").id)
    gate = served.hold()
    work.bench.hub.submit(work.id, "second")
    await work.bench.until(lambda event: type(event).__name__ == "TurnStarted")
    with pytest.raises(SessionBusy):
        await work.bench.hub.rewind(work.id, seen, Scope.BOTH)
    for refused in (
        other.hub.rewind(work.id, theirs, Scope.CONVERSATION),
        other.hub.undo_rewind(work.id),
        other.hub.branch(work.id),
    ):
        with pytest.raises(BusyElsewhere):
            await refused
    gate.set()
    await work.bench.until(lambda event: type(event).__name__ == "TurnEnded")
    assert work.said == ["first", "did first", "second", " end"]


async def test_who_watches_hears_of_it_and_the_next_request_is_without_what_was_taken_back(
    work: Any, served: Any
) -> None:
    await work.does("first")
    await work.does("second")
    await work.rewind("second")
    heard = await work.bench.until(lambda event: isinstance(event, RowsReplaced))
    assert isinstance(heard[-1], RowsReplaced) and not work.runtime.is_busy
    await work.does("third")
    said = [message["content"] for message in served.requests[-1]["messages"] if message["role"] != "system"]
    assert said == ["first", "did first", "third"]


async def test_calls_that_were_summarised_are_taken_back_with_their_prompt(work: Any, repository: Path) -> None:
    """A summary stands in the place of the calls; what they did to files is still known."""
    await work.shell("go", "echo 1 > a")
    rows = work.bench.rows

    def swap(tables: Any) -> None:
        from session.models import Message, Role

        revision = tables.sessions.get(work.id).revision
        tables.lineage.swap(work.id, rows[-3].id, rows[-1].id, Message(work.id, Role.USER, "sum", 1.0), revision)

    work.bench.hub.profile.db.write(swap).result()
    await work.bench.hub.catch_up()
    await work.rewind("go")
    assert not (repository / "a").exists()


# --- branches


async def test_a_branch_leaves_the_original_alone(work: Any, repository: Path, look: Any) -> None:
    await work.shell("first", "echo 1 > a")
    await work.shell("second", "echo 2 > a")
    said, before = work.said, look(repository)
    original = work.id
    branched = await work.bench.hub.branch(original)
    work.bench.session_id = (await work.bench.hub.open(branched)).id
    session = work.runtime.s.session
    assert (work.said, session.kind, session.parent_id) == (said, Kind.BRANCH, original)
    assert session.title == "first (branch)"
    await work.shell("third", "echo 3 > a")
    await work.rewind("second")
    assert (repository / "a").read_text() == "2\n"  # as far as the branch itself had changed it
    assert work.said == ["first", "did first"]
    work.bench.session_id = original
    assert (work.said, await work.stored(), look(repository)) == (said, said, before)


async def test_a_branch_before_a_prompt_has_a_name_of_its_own(work: Any) -> None:
    await work.does("first")
    await work.does("second")
    branched = await work.bench.hub.branch(work.id, "another way", work.prompt("second").id)
    runtime = await work.bench.hub.open(branched)
    work.bench.session_id, original = branched, work.id
    assert (work.said, runtime.s.session.title) == (["first", "did first"], "another way")
    with pytest.raises(TitleTaken):
        await work.bench.hub.branch(original, "another way")
    with pytest.raises(NothingToBranch):
        await work.bench.hub.branch(work.bench.hub.create(work.bench.workspace).id)


# --- commands


async def run(work: Any, line: str) -> Any:
    from agent.commands.parse import Call, read_line

    call = read_line(line)
    assert isinstance(call, Call)
    return await call.command.act(work.bench.hub, work.id, call.argument)


async def test_undo_gives_the_prompt_back_and_redo_brings_the_exchange_back(work: Any) -> None:
    await work.does("first")
    await work.does("second")
    effect = await run(work, "/undo")
    assert (effect.prompt, work.said) == ("second", ["first", "did first"])
    effect = await run(work, "/undo")
    assert (effect.prompt, work.said) == ("first", [])
    await run(work, "/redo")
    await run(work, "/rewind undo")
    assert work.said == ["first", "did first", "second", "did second"]


async def test_retry_sends_the_last_prompt_again(work: Any, served: Any) -> None:
    await work.does("first")
    await work.does("second")
    served.reply(text="better")
    await run(work, "/retry")
    await work.bench.until(lambda event: type(event).__name__ == "TurnEnded")
    assert work.said == ["first", "did first", "second", "better"]


async def test_undo_of_an_exchange_that_changed_files_asks_first(work: Any, repository: Path) -> None:
    await work.shell("go", "echo 1 > a")
    for line in ("/undo", "/retry"):
        effect = await run(work, line)
        assert (effect.seen.text, effect.is_retry) == ("go", line == "/retry")
    assert (len(work.said), (repository / "a").exists()) == (2, True)


async def test_branch_leads_to_the_new_session(work: Any) -> None:
    await work.does("first")
    effect = await run(work, "/branch side road")
    assert isinstance(effect, Opened) and effect.session_id != work.id
    assert (await work.bench.hub.open(effect.session_id)).s.session.title == "side road"


@pytest.mark.parametrize("line", ["/rewind", "/undo", "/redo", "/retry", "/branch", "/rewind undo", "/rewind nowhere"])
async def test_where_nothing_can_be_taken_back_a_sentence_says_so(work: Any, line: str) -> None:
    from session.errors import UserError

    try:
        said = (await run(work, line)).text
    except UserError as error:
        said = str(error)
    assert said.endswith(".")
