"""What other processes do to the sessions of this profile, as it comes onto the screen."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual import events

from session.db import SessionDB
from session.lease import Claim, forget
from session.models import EndReason, Finish, Message, Role, Session, TitleSource

SOON_S = 5  # a second by the rule, and room for a machine that is busy


class Elsewhere:
    """The store as another process has it open."""

    def __init__(self, db: SessionDB, work: Path) -> None:
        self._db, self._work = db, str(work)

    def begins(self, session_id: str, title: str) -> None:
        now = time.time()
        session = Session(session_id, "tui", title, TitleSource.PERSON, self._work, self._work, now, now)
        self._db.write(lambda tables: tables.sessions.create(session)).result()

    def says(self, session_id: str, text: str) -> None:
        row = Message(session_id, Role.ASSISTANT, text, time.time(), finish=Finish.STOP)
        self._db.write(lambda tables: tables.messages.append(row)).result()

    def works(self, session_id: str) -> None:
        self._db.write(lambda tables: tables.leases.take(Claim(session_id, "theirs", "tui"), time.time())).result()

    def rests(self, session_id: str) -> None:
        forget(Claim(session_id, "theirs", "tui"))
        self._db.write(lambda tables: tables.leases.release(Claim(session_id, "theirs", "tui"))).result()

    def rewinds(self, session_id: str) -> None:
        def rewind(tables) -> None:
            prompt = [row for row in tables.messages.all(session_id) if row.role is Role.USER][-1]
            tables.lineage.rewind(session_id, prompt.id, 2.0)

        self._db.write(rewind).result()

    def deletes(self, session_id: str) -> None:
        self._db.write(lambda tables: tables.sessions.delete(session_id, 2.0)).result()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Callable[[], Elsewhere]]:
    opened: list[SessionDB] = []

    def open_store() -> Elsewhere:
        opened.append(SessionDB.open(tmp_path / "home" / "state.db"))
        return Elsewhere(opened[-1], tmp_path / "work")

    yield open_store
    for db in opened:
        db.close()


async def test_a_session_begun_elsewhere_appears_and_one_deleted_elsewhere_goes(desk, elsewhere):
    async with desk() as d:
        other = elsewhere()
        other.begins("theirs", "Begun elsewhere")
        began = time.monotonic()
        await d.until(lambda: "Begun elsewhere" in d.text)
        assert time.monotonic() - began < SOON_S
        other.deletes("theirs")
        await d.until(lambda: "Begun elsewhere" not in d.text)


async def test_the_shown_transcript_grows_and_loses_what_is_rewound_elsewhere(desk, script, elsewhere):
    script.says("Here is one.")
    async with desk() as d:
        await d.send("say one")
        await d.idle()
        other = elsewhere()
        other.says(d.shown, "And here is another.")
        await d.until(lambda: "And here is another." in d.text)
        other.rewinds(d.shown)
        await d.until(lambda: "Here is one." not in d.text and "here is another" not in d.text)


async def test_a_session_that_is_worked_in_elsewhere_says_where_and_takes_a_refused_prompt_for_no_failure(
    desk, script, elsewhere
):
    script.says("Here is one.")
    async with desk() as d:
        await d.send("say one")
        await d.idle()
        other = elsewhere()
        other.works(d.shown)
        await d.until(lambda: f"working elsewhere · process {os.getpid()}" in d.text)
        await d.send("say two")
        await d.until(lambda: "1 queued" in d.text and "Another hermes is working" in d.text)
        await d.until(lambda: f"working elsewhere · process {os.getpid()}" in d.text and "failed" not in d.text)
        other.rests(d.shown)
        await d.until(lambda: "○ idle" in d.text and "elsewhere" not in d.text)


async def test_nothing_is_looked_for_while_the_window_is_not(desk, elsewhere, monkeypatch):
    monkeypatch.setattr("agent.watcher.LOOK_S", 0.01)
    async with desk() as d:
        other = elsewhere()
        await d.until(lambda: d.main._watcher._version is not None)
        d.app.post_message(events.AppBlur())
        await d.until(lambda: not d.app.app_focus)
        other.begins("theirs", "Begun elsewhere")
        await d.pilot.pause(0.3)
        assert "Begun elsewhere" not in d.text
        d.app.post_message(events.AppFocus())
        await d.until(lambda: "Begun elsewhere" in d.text)


async def test_E18_a_window_whose_session_is_deleted_elsewhere_is_told_and_its_run_is_over(desk, script, elsewhere):
    script.holds("half an")
    async with desk() as d:
        await d.send("say one")
        await d.until(lambda: "half an" in d.text)
        elsewhere().deletes(d.shown)
        await d.until(lambda: any("was deleted" in toast for toast in d.toasts))
        assert not d.main.runtime.is_busy
        assert d.shown not in d.main.sessions.keys


# --- what ends a session, and what does not


def ended(d, session_id: str) -> EndReason | None:
    session = d.hub.profile.db.read(lambda tables: tables.sessions.get(session_id)).result()
    return session.end_reason


async def test_new_ends_the_session_it_leaves_and_a_prompt_opens_it_again(desk, script):
    script.says("one")
    script.says("two")
    async with desk() as d:
        first = d.shown
        await d.send("say one")
        await d.idle()
        assert ended(d, first) is None
        await d.send("/new")
        await d.until(lambda: d.shown != first)
        assert ended(d, first) is EndReason.NEW
        await d.press("alt+down")
        await d.until(lambda: d.shown == first)
        assert ended(d, first) is EndReason.NEW
        await d.send("say two")
        await d.until(lambda: len(script.requests) == 2)
        await d.idle()
        assert ended(d, first) is None


async def test_new_leaves_a_session_open_in_which_a_turn_still_runs(desk, script):
    gate = script.holds("half an")
    async with desk() as d:
        first = d.shown
        await d.send("say one")
        await d.until(lambda: "half an" in d.text)
        await d.send("/new")
        await d.until(lambda: d.shown != first)
        assert (ended(d, first), d.hub.runtime(first).is_busy) == (None, True)
        gate.set()
        await d.until(lambda: not d.hub.runtime(first).is_busy)


async def test_going_to_another_session_ends_neither(desk, script, elsewhere):
    script.holds("half an")
    async with desk() as d:
        first = d.shown
        await d.send("say one")
        await d.until(lambda: "half an" in d.text)
        elsewhere().begins("theirs", "Begun elsewhere")
        await d.until(lambda: "Begun elsewhere" in d.text)
        d.main.go_to("theirs")
        await d.until(lambda: d.shown == "theirs")
        assert (ended(d, first), ended(d, "theirs"), d.hub.runtime(first).is_busy) == (None, None, True)
