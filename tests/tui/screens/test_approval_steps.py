"""What a question tells beside its text, and its second looks: yes for good, another command, words with a no."""

from __future__ import annotations

import asyncio
import time

import pytest
from msgspec.structs import replace
from textual import events

from agent.approvals.details import Details, Offer, Script
from agent.approvals.inbox import Answer
from agent.approvals.shell_verdict import Decision, Mark, Part
from session.models import Approval
from tui.screens.approval import ApprovalScreen
from tui.screens.approval_always import AlwaysStep
from tui.screens.approval_words import EditStep, ReasonStep

PUSH, TEST = "git push origin main", "npm test"
PARTS = (
    Part(PUSH, ("git", "push", "origin", "main"), Decision.ASK, "no rule", "sends commits away"),
    Part("ls -la", ("ls", "-la"), Decision.ALLOW, "read-only"),
)
OFFERS = (
    (
        Offer(f"= {PUSH}", "exact", 1),
        Offer("git push", "subcommand", 12),
        Offer("git *", "prefix", 57),
    ),
    (Offer(f"= {TEST}", "exact", 3), Offer("npm *", "prefix", 9)),
)
KNOWN = Details(PARTS, may_save=True, offers=OFFERS, command=f"{PUSH} && {TEST}")


async def step(d, kind: type, key: str):
    """Open a second look, and wait until its keys count."""
    await d.asked()
    await d.press(key)
    await d.until(lambda: isinstance(d.app.screen, kind))
    return await d.asked()


# --- what is told


async def test_each_part_is_told_with_its_verdict_and_its_rule_and_so_is_what_it_touches(desk):
    details = replace(KNOWN, reads=("/etc/hosts",), writes=("/w/out.txt",), hosts=("example.com",))
    async with desk(size=(110, 40)) as d:
        answer = d.asks(f"{PUSH} && ls -la", details)
        await d.asked()
        for row in (
            f"asks     {PUSH}  sends commits away · no rule",
            "allowed  ls -la  read-only",
            "reads    /etc/hosts",
            "writes   /w/out.txt",
            "reaches  example.com",
        ):
            assert row in d.text
        assert "terminal · ask_1" in d.text
        await d.press("escape")
        assert await answer == Answer(Approval.DENIED)


@pytest.mark.parametrize("size", [(110, 32), (60, 20), (40, 10)])
async def test_marks_of_danger_are_one_line_over_the_text(desk, size):
    async with desk(size=size) as d:
        answer = d.asks("dd of=/dev/sdz", Details(marks=(Mark("disk", "writes to the device /dev/sdz"),)))
        await d.asked()
        assert "Dangerous: it writes" in d.text
        answer.cancel()


async def test_on_a_low_screen_the_parts_are_read_by_scrolling_and_stand_on_another_ground(desk):
    async with desk(size=(60, 10)) as d:
        answer = d.asks("\n".join(f"line {n}" for n in range(40)), KNOWN)
        await d.asked()
        await d.press("end")
        await d.until(lambda: "no rule" in d.text)
        assert "Deny" in d.text
        answer.cancel()


async def test_page_down_goes_on_from_the_text_to_its_parts_and_back(desk):
    parts = tuple(Part(f"do {n}", ("do",), Decision.ASK, "no rule") for n in range(60))
    async with desk(size=(80, 24)) as d:
        answer = d.asks("\n".join(f"do {n}" for n in range(12)), Details(parts))
        await d.asked()
        assert "do 59" not in d.text
        for _ in range(30):
            await d.press("pagedown")
        await d.until(lambda: "do 59" in d.text)
        for _ in range(30):
            await d.press("pageup")
        await d.until(lambda: "asks     do 0 " in d.text)
        answer.cancel()


async def test_the_time_that_is_left_counts_down(desk):
    async with desk() as d:
        answer = d.asks("true", Details(ends_at=time.time() + 90))
        await d.asked()
        await d.until(lambda: " s left" in d.text)
        left = d.text.partition(" s left")[0].split()[-1]
        await d.until(lambda: int(d.text.partition(" s left")[0].split()[-1]) < int(left))
        answer.cancel()


async def test_silence_closes_the_question_and_is_no_answer_of_the_persons(desk, script):
    async with desk(timeout_s=1) as d:
        script.says("", "touch a")
        script.says("done")
        await d.send("do it")
        await d.until(lambda: isinstance(d.app.screen, ApprovalScreen))
        await d.until(lambda: d.app.screen is d.main)
        await d.idle()
        assert [row.result.approval for row in d.main.runtime.s.rows if row.result] == [Approval.TIMED_OUT]


@pytest.mark.parametrize("details", [Details(), Details(offers=OFFERS), Details(may_save=True)])
async def test_what_cannot_be_settled_for_good_offers_no_always(desk, details):
    async with desk() as d:
        answer = d.asks(PUSH, details)
        await d.asked()
        await d.press("3")
        assert isinstance(d.app.screen, ApprovalScreen) and not answer.done()
        assert "this is asked each time" in d.text
        answer.cancel()


async def test_what_holds_for_one_call_alone_is_not_allowed_for_the_session(desk):
    async with desk() as d:
        answer = d.asks(PUSH, Details(is_once=True))
        await d.asked()
        await d.press("2")
        assert not answer.done() and "a yes holds for this call alone" in d.text
        answer.cancel()


@pytest.mark.parametrize("size", [(80, 24), (40, 10)])
async def test_C30_a_script_that_would_run_is_read_below_the_command(desk, size):
    lines = "\n".join(f"step {n}" for n in range(40))
    details = Details(scripts=(Script("build.sh", f"{lines}\nrm -rf \u200bdist"),))
    async with desk(size=size) as d:
        answer = d.asks("./build.sh", details)
        await d.asked()
        assert "./build.sh" in d.text and "Careful" in d.text
        await d.press("end")
        await d.until(lambda: r"rm -rf \u200bdist" in d.text)
        answer.cancel()


# --- always


async def test_always_saves_the_narrowest_rule_of_each_part_for_this_project_unless_told_otherwise(desk):
    async with desk() as d:
        answer = d.asks(PUSH, KNOWN)
        await step(d, AlwaysStep, "3")
        assert f"allow  = {PUSH}" in d.text and f"allow  = {TEST}" in d.text
        assert "would also have allowed 1 of the last 200 commands" in d.text and "Saved for this project" in d.text
        await d.press("up", "enter")
        assert await answer == Answer(Approval.ALLOWED_ALWAYS, rules=(f"= {PUSH}", f"= {TEST}"))


async def test_each_rule_is_as_wide_as_the_person_makes_it_and_holds_where_they_say(desk):
    async with desk() as d:
        answer = d.asks(PUSH, KNOWN)
        await step(d, AlwaysStep, "3")
        await d.press("up", "up", "right", "up", "right", "right", "left", "up", "right")
        await d.until(lambda: "allow  git push\n" in d.text.replace(" " * 9, "\n") or "allow  git push " in d.text)
        assert "would also have allowed 12 of the last 200" in d.text and "Saved for every project" in d.text
        await d.press("down", "down", "down", "enter")
        assert await answer == Answer(Approval.ALLOWED_ALWAYS, rules=("git push", "= npm test"), is_everywhere=True)


@pytest.mark.parametrize("keys", [["enter"], ["escape"]])
async def test_the_first_enter_of_the_second_look_saves_nothing(desk, keys):
    async with desk(arm_ms=1_000) as d:
        answer = d.asks(PUSH, KNOWN)
        await step(d, AlwaysStep, "3")
        await d.press(*keys)
        await d.until(lambda: isinstance(d.app.screen, ApprovalScreen))
        assert not answer.done() and not d.app.screen.is_armed
        await d.asked()
        answer.cancel()


async def test_C21_a_held_key_opens_the_second_look_and_no_more(desk):
    async with desk(arm_ms=500) as d:
        answer = d.asks(PUSH, KNOWN)
        await d.asked()
        await d.press("up", "up")
        assert d.app.screen.answers.marked == 2
        for _ in range(30):
            d.app.post_message(events.Key("enter", "\r"))
            await asyncio.sleep(0.02)
        assert isinstance(d.app.screen, AlwaysStep) and not d.app.screen.is_armed and not answer.done()
        answer.cancel()


async def test_enter_and_a_click_on_a_rule_turn_it_and_decide_nothing(desk):
    async with desk() as d:
        answer = d.asks(PUSH, KNOWN)
        modal = await step(d, AlwaysStep, "3")
        await d.press("up", "up", "up", "up", "enter", "enter")
        await d.until(lambda: "allow  git *" in d.text)
        await d.pilot.click(modal.answers, offset=(6, 1))
        await d.until(lambda: "allow  npm *" in d.text)
        assert not answer.done()
        answer.cancel()


async def test_a_long_rule_is_seen_whole_before_it_is_saved(desk):
    rule = "= curl " + "x" * 6_000 + "/the-end"
    async with desk(size=(80, 24)) as d:
        answer = d.asks("curl", Details(may_save=True, offers=((Offer(rule, "exact"),),)))
        await step(d, AlwaysStep, "3")
        assert "▸ 4  Back, save nothing" in d.text
        for _ in range(20):
            await d.press("pagedown")
        await d.until(lambda: "/the-end" in d.text)
        answer.cancel()


@pytest.mark.parametrize("size", [(40, 10), (20, 6), (160, 50)])
async def test_the_second_look_fits_any_screen(desk, size):
    many = tuple((Offer(f"= tool{n} run", "exact", n),) for n in range(12))
    async with desk(size=size) as d:
        answer = d.asks("x", replace(KNOWN, offers=many))
        await step(d, AlwaysStep, "3")
        assert "Back" in d.text
        await d.press("up")
        assert "save this" in d.text or "Allow" in d.text
        await d.press("enter")
        assert (await answer).rules == tuple(f"= tool{n} run" for n in range(12))


# --- a no with its reason


async def test_C22_editing_keys_in_the_reason_decide_nothing(desk):
    async with desk() as d:
        answer = d.asks("true")
        await step(d, ReasonStep, "6")
        d.arm_late()
        await d.press("a", "b", "c", "left", "backspace", "delete", "shift+tab", "1", "home", "end", "space", "y")
        assert not answer.done()
        answer.cancel()


async def test_C22_a_digit_and_a_tab_in_the_reason_are_text_and_a_way_to_the_answers(desk):
    async with desk() as d:
        answer = d.asks("true")
        modal = await step(d, ReasonStep, "6")
        await d.press("1", "2", "left", "backspace")
        assert modal.field.text == "2" and not answer.done()
        await d.press("tab")
        await d.asked()
        await d.press("2")
        await d.until(lambda: isinstance(d.app.screen, ApprovalScreen))
        assert not answer.done()
        answer.cancel()


async def test_a_reason_goes_with_the_no_as_it_was_written(desk):
    async with desk() as d:
        answer = d.asks("true")
        await step(d, ReasonStep, "6")
        d.app.post_message(events.Paste("not on main;\nuse a branch"))
        await d.pilot.pause(0.05)
        await d.press("enter")
        assert await answer == Answer(Approval.DENIED, reason="not on main;\nuse a branch")


async def test_an_empty_reason_denies_nothing(desk):
    async with desk() as d:
        answer = d.asks("true")
        await step(d, ReasonStep, "6")
        await d.press("enter", "space", "enter")
        await d.pilot.pause(0.2)
        assert not answer.done() and "write a reason" in d.text
        await d.press("escape")
        await d.until(lambda: isinstance(d.app.screen, ApprovalScreen))
        answer.cancel()


# --- another command


async def test_an_edited_command_needs_a_press_of_its_own_and_is_handed_on_to_be_judged_anew(desk):
    async with desk() as d:
        answer = d.asks(PUSH, KNOWN)
        modal = await step(d, EditStep, "4")
        assert modal.field.text == KNOWN.command
        await d.press(*["backspace"] * len(" && npm test"), "enter")
        assert not answer.done()
        await d.asked()
        await d.press("1")
        assert await answer == Answer(Approval.ALLOWED_ONCE, edited=PUSH)


async def test_C20_keys_typed_on_behind_an_edit_decide_nothing(desk):
    async with desk() as d:
        answer = d.asks(PUSH, KNOWN)
        await step(d, EditStep, "4")
        d.arm_late()
        await d.press("x", "enter", "1", "enter", "1", "up", "enter")
        await d.pilot.pause(0.1)
        assert not answer.done()
        answer.cancel()


async def test_a_command_that_was_not_changed_is_allowed_as_it_was(desk):
    async with desk() as d:
        answer = d.asks(PUSH, KNOWN)
        await step(d, EditStep, "4")
        await d.press("tab")
        await d.asked()
        await d.press("up", "enter")
        assert await answer == Answer(Approval.ALLOWED_ONCE)


async def test_C16_an_edit_that_holds_what_does_not_show_cannot_be_allowed(desk):
    async with desk() as d:
        answer = d.asks(PUSH, KNOWN)
        await step(d, EditStep, "4")
        d.app.post_message(events.Paste("rm /tmp/\u200bimportant"))
        await d.until(lambda: "take out first" in d.text and r"\u200b" in d.text)
        await d.press("tab")
        await d.asked()
        await d.press("1")
        await d.pilot.pause(0.05)
        assert not answer.done() and isinstance(d.app.screen, EditStep)
        answer.cancel()


@pytest.mark.parametrize("command", ["", "echo \x1b[2K", "rm /tmp/\u200bx"])
async def test_C17_what_a_text_field_would_not_show_is_not_edited(desk, command: str):
    async with desk() as d:
        answer = d.asks(command or "true", Details(command=command))
        await d.asked()
        await d.press("4")
        assert isinstance(d.app.screen, ApprovalScreen)
        answer.cancel()


# --- the view of a request


@pytest.mark.parametrize(("key", "kind"), [("3", AlwaysStep), ("4", EditStep), ("6", ReasonStep)])
async def test_C28_a_second_look_closes_with_its_request(desk, key: str, kind: type):
    async with desk() as d:
        answer = d.asks(PUSH, KNOWN)
        await step(d, kind, key)
        d.hub.answer("ask_1", Answer(Approval.CANCELLED, "elsewhere"))
        await d.until(lambda: d.app.screen is d.main)
        assert (await answer).approval is Approval.CANCELLED


@pytest.mark.parametrize(("key", "kind"), [("3", AlwaysStep), ("4", EditStep), ("6", ReasonStep)])
async def test_C28_a_second_look_closes_when_another_session_is_shown(desk, key: str, kind: type):
    async with desk() as d:
        answer = d.asks(PUSH, KNOWN)
        await step(d, kind, key)
        other = d.hub.create(d.main.runtime.s.place.cwd)
        d.main.show(other.id)
        await d.until(lambda: d.app.screen is d.main)
        assert not answer.done() and d.hub.pending()
        answer.cancel()


async def test_C28_an_answer_of_a_second_look_that_comes_too_late_changes_nothing(desk):
    async with desk() as d:
        answer = d.asks(PUSH, KNOWN)
        modal = await step(d, AlwaysStep, "3")
        d.hub.answer("ask_1", Answer(Approval.DENIED))
        modal.take(modal._save)
        await d.until(lambda: d.app.screen is d.main and d.toasts)
        assert "changed nothing" in d.toasts[-1] and (await answer) == Answer(Approval.DENIED)


async def test_a_letter_that_is_no_key_begins_the_quiet_time_anew(desk):
    async with desk() as d:
        answer = d.asks("true")
        await d.asked()
        d.arm_late()
        await d.press("s", "1", "enter")
        assert not answer.done() and not d.app.screen.is_armed
        answer.cancel()


async def test_several_questions_say_where_each_stands(desk):
    async with desk() as d:
        answers = [d.asks(f"echo {n}", id=f"ask_{n}") for n in range(3)]
        await d.until(lambda: "1 of 3" in d.text)
        await d.asked()
        await d.press("1")
        await d.until(lambda: "1 of 2" in d.text and "echo 1" in d.text)
        assert not answers[1].done()
        for answer in answers:
            answer.cancel()


@pytest.mark.parametrize("size", [(20, 6), (80, 24)])
async def test_every_step_survives_any_size(desk, size):
    async with desk(size=size) as d:
        answer = d.asks(PUSH, KNOWN)
        for key, kind in (("3", AlwaysStep), ("4", EditStep), ("6", ReasonStep)):
            await step(d, kind, key)
            for other in ((20, 6), (160, 50), (1, 1), size):
                await d.resize(*other)
            await d.asked()
            assert "│" in d.text
            await d.press("escape")
            await d.until(lambda: isinstance(d.app.screen, ApprovalScreen))
        answer.cancel()
