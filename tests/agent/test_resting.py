"""A session that nobody looks at is closed as soon as the store brings it back as it is, and not before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from agent.approvals.shell_verdict import Mode
from agent.approvals.standing import Kind
from agent.prompt_of_session import invalidate_prompt
from session.models import ExitReason

SECRET = "sk-test-0123456789-abcdef"


def leave_all(bench) -> None:
    """The session of the bench is left, and then another one."""
    bench.hub.leave_alone(bench.session_id)
    bench.hub.leave_alone(bench.hub.create(bench.workspace).id)


async def test_a_session_that_was_left_is_closed_and_goes_on_where_it_was(bench, served):
    served.reply(text="Hello.")
    await bench.ask("first")
    said = [row.content for row in bench.rows]
    leave_all(bench)
    assert not bench.hub.is_open(bench.session_id)
    await bench.hub.open(bench.session_id)
    assert [row.content for row in bench.rows] == said
    served.reply(text="Again.")
    assert (await bench.ask("second")).ended.reason is ExitReason.COMPLETED
    sent = [one["content"] for one in served.requests[-1]["messages"] if one["role"] in ("user", "assistant")]
    assert sent == ["first", "Hello.", "second"]


async def test_what_was_allowed_and_what_is_unread_outlives_the_closing(bench, served):
    served.reply(text="Hello.")
    await bench.ask("first")
    bench.hub.runtime(bench.session_id).s.parts.grants.allow(bench.session_id, Kind.SHELL, ["make"])
    leave_all(bench)
    [line] = await bench.hub.listing()
    assert line.is_unread
    runtime = await bench.hub.open(bench.session_id)
    assert [one.text for one in runtime.s.parts.grants.held(bench.session_id, bench.workspace).standing] == ["make"]


async def test_one_that_is_looked_at_again_is_not_closed(bench, served):
    served.reply(text="Hello.")
    await bench.ask("first")
    bench.hub.leave_alone(bench.session_id)
    bench.hub.listen(bench.session_id)
    bench.hub.leave_alone(bench.hub.create(bench.workspace).id)
    assert bench.hub.is_open(bench.session_id)


async def yolo(bench, _) -> None:
    await bench.hub.runtime(bench.session_id).set_mode(Mode.YOLO)


async def queued(bench, served) -> None:
    served.hold('data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n')
    bench.hub.submit(bench.session_id, "second")
    bench.hub.submit(bench.session_id, "third")


async def failed(bench, served) -> None:
    served.refuse("401 Unauthorized", "{}")
    await bench.ask("second")


async def other_model_once(bench, _) -> None:
    runtime = bench.hub.runtime(bench.session_id)
    await runtime.model.switch(bench.hub.models.resolve("served:big", runtime.s.route), is_once=True)


async def outdated_prompt(bench, _) -> None:
    invalidate_prompt(bench.hub.runtime(bench.session_id).s)


async def typed_secret(bench, served) -> None:
    await bench.hub.profile.secrets.save("SOME_KEY", SECRET)
    served.reply(text="Good.")
    await bench.ask(f"it is {SECRET}")


@pytest.mark.parametrize("happens", [yolo, queued, failed, other_model_once, outdated_prompt, typed_secret])
async def test_one_that_the_store_does_not_know_whole_stays_open(
    bench, served, happens: Callable[..., Awaitable[None]]
):
    served.reply(text="Hello.")
    await bench.ask("first")
    await happens(bench, served)
    leave_all(bench)
    assert bench.hub.is_open(bench.session_id)


async def test_one_in_which_nothing_was_said_stays_open(bench):
    leave_all(bench)
    assert bench.hub.is_open(bench.session_id)
