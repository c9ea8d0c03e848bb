"""Plays a scripted session through the real runtime against the simulated provider, and notes what it says of itself."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import msgspec

from agent.approvals.inbox import Answer as Decision
from agent.context.meter import ContextFigure, FigureSource
from agent.events import CompactionEnded, CompactionStarted, RequestOpened, RowStored, TurnEnded, TurnEvent, TurnStarted
from agent.hub import Hub
from agent.open import open_hub
from agent.open_session import OpenSession
from agent.profile import Profile
from session.errors import UserError
from session.models import Approval, Message, Role
from session.sessions import new_session_id
from session.tables import Tables
from tests.honesty import texts, truth
from tests.honesty.counting import Answer
from tests.honesty.models import Model
from tests.honesty.record import Compaction, Played, Point, Refusal
from tests.honesty.scripts import (
    Anew,
    Branch,
    Compact,
    Resume,
    Rewind,
    Say,
    Script,
    Speak,
    Step,
    Switch,
)
from tests.honesty.simulator import Request, Simulator

T = TypeVar("T")

STUCK_S = 60  # no turn takes this long
IMAGE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MOMENTS = {Role.USER: "prompt", Role.ASSISTANT: "reply", Role.TOOL: "result"}
ANCHORED = (FigureSource.PROVIDER, FigureSource.PROVIDER_PLUS_ESTIMATE)


async def play(script: Script, folder: Path) -> Played:
    """In a home of its own in `folder`."""
    dice = texts.Dice(script.number)
    summary = Answer(texts.prose(dice, 2_500))
    async with Simulator({model.provider: model for model in script.models}, summary) as simulator:
        player = Player(script, folder, simulator)
        try:
            await player.open()
            for step in script.steps:
                await player.take(step)
        finally:
            await player.close()
        return player.recorder.finished(simulator.requests)


class Recorder:
    """Notes a session's figures at every event, synchronously: what is true then is soon not true any more."""

    def __init__(self, script: Script, simulator: Simulator) -> None:
        self.played = Played(script.number, script.kind)
        self.leg = self.turn = 0
        self._simulator = simulator
        self._priced = (0, 0)  # of the display and the gates, at the last reading
        self._is_first_reading = False  # … of the turn
        self.s: OpenSession | None = None
        self._with_images: set[str] = set()  # models that have counted some
        self._compaction: Compaction | None = None  # the one that runs
        self._known: list[int | None] = []  # the window, at each request
        simulator.on_request = self._request_came

    @property
    def model(self) -> Model:
        assert self.s is not None
        return self._simulator.models[self.s.route.provider]

    def elsewhere(self) -> None:
        """What comes now is another conversation than before."""
        self.leg += 1

    def put(self, event: TurnEvent) -> None:
        if self.s is None or event.at.session != self.s.id:
            return
        match event:
            case RowStored(row=row) if row.role is not Role.NOTICE:
                self._row_came(row)
            case TurnStarted():
                self.turn += 1
                self._is_first_reading = True
            case CompactionStarted():
                self._compaction_began(event)
            case CompactionEnded():
                self._compaction_ended(event)
            case TurnEnded(error=error) if error:
                self.played.errors.append(f"session {self.played.number} ({self.played.kind}): {error}")
            case _:
                pass

    def note(self, moment: str) -> None:
        """The display, between turns."""
        if self.s is not None and any(row.role is not Role.NOTICE for row in self.s.rows):
            self._note_display(moment, self.s.context())

    def note_seen(self, moment: str, seen: dict[str, object]) -> None:
        """The display, as another process saw it."""
        assert self.s is not None
        figure = self.s.context()
        self._note_display(moment, msgspec.structs.replace(figure, used=seen["used"], source=FigureSource(seen["source"])))  # fmt: skip

    def finished(self, requests: list[Request]) -> Played:
        self.played.requests = len(requests)
        for place, one in enumerate(requests):
            if one.is_refused:
                following = next((other for other in requests[place + 1 :] if other.is_main), None)
                fits = following is not None and not following.is_refused and following.model == one.model
                self.played.refusals.append(Refusal(self.played.number, self.played.kind, one.model.name, one.counted, self._known[place], one.model.window, one.is_main, fits))  # fmt: skip
        return self.played

    # --- inside

    def _row_came(self, row: Message) -> None:
        assert self.s is not None
        if row.role is Role.ASSISTANT and row.usage is not None and row.usage.prompt:
            self._priced_now()
        self._note_display("images" if row.parts else MOMENTS[row.role], self.s.context())
        if row.role is Role.USER or (row.role is Role.TOOL and _is_answered(self.s.rows)):
            self._note_gates("prompt" if row.role is Role.USER else "results")

    def _priced_now(self) -> None:
        """The display rests on a turn's first reading where the later ones hold thinking of an unknown length."""
        assert self.s is not None
        model, gates = self.model, truth.of_this_turn(self.s, self.model)
        if any(row.parts for row in self.s.rows):
            self._with_images.add(model.name)
        is_blurred = model.is_echoed and not model.reports
        display = self._priced[0] if is_blurred and not self._is_first_reading else truth.of_new_turn(self.s, model)
        self._priced, self._is_first_reading = (display, gates), False

    def _note_display(self, moment: str, figure: ContextFigure) -> None:
        assert self.s is not None
        true = truth.of_new_turn(self.s, self.model)
        is_anchored = figure.source in ANCHORED
        self.played.display.append(self._point(moment, figure.used, figure.source, is_anchored, true, self._priced[0]))

    def _note_gates(self, moment: str) -> None:
        assert self.s is not None
        pressure, true = self.s.pressure(), truth.of_this_turn(self.s, self.model)
        source = "anchored" if pressure.is_anchored else "estimate"
        self.played.gates.append(
            self._point(moment, pressure.used, source, pressure.is_anchored, true, self._priced[1])
        )

    def _point(self, moment: str, used: int, source: str, is_anchored: bool, true: int, priced: int) -> Point:
        assert self.s is not None
        tail = max(0.0, 1 - priced / true) if is_anchored else 1.0
        return Point(
            self.played.number,
            self.played.kind,
            self.model.name,
            moment,
            used,
            source,
            is_anchored,
            true,
            tail,
            _readings(self.s),
            self.leg,
            self.turn,
            self.model.name not in self._with_images and any(row.parts for row in self.s.rows),
        )

    def _compaction_began(self, event: CompactionStarted) -> None:
        assert self.s is not None
        figure, pressure = self.s.context(), self.s.pressure()
        self._compaction = Compaction(
            self.played.number,
            self.played.kind,
            self.model.name,
            event.why,
            truth.of_this_turn(self.s, self.model),
            event.tokens,
            figure.threshold,
            figure.window,
            pressure.is_anchored,
        )

    def _compaction_ended(self, event: CompactionEnded) -> None:
        if self._compaction is not None:  # it had begun
            self.played.compactions.append(replace(self._compaction, rows=event.rows, error=event.error))
        self._compaction = None
        self.elsewhere()
        self.note("compaction")

    def _request_came(self, request: Request) -> None:
        """Of each request, so that what was foreseen can be held against what was counted."""
        assert self.s is not None
        self._known.append(self.s.context().window)
        foreseen = truth.of_this_turn(self.s, self.model)
        if request.is_main and foreseen != request.counted:
            self.played.differing.append(
                f"session {self.played.number}: counted {request.counted}, foreseen {foreseen}"
            )


class Player:
    """Does what a person would."""

    def __init__(self, script: Script, folder: Path, simulator: Simulator) -> None:
        self.recorder = Recorder(script, simulator)
        self._script = script
        self._simulator = simulator
        self._home, self._workspace = folder / "home", folder / "work"
        self._hub: Hub | None = None
        self._session_id = ""

    @property
    def hub(self) -> Hub:
        assert self._hub is not None
        return self._hub

    @property
    def s(self) -> OpenSession:
        return self.hub.runtime(self._session_id).s

    async def open(self) -> None:
        self._home.mkdir(mode=0o700)
        self._workspace.mkdir()
        (self._home / "config.yaml").write_text(json.dumps(_config(self._script, self._simulator)))
        await self._open_hub()
        self._begin(self.hub.create(self._workspace).s)

    async def close(self) -> None:
        if self._hub is not None:
            hub, self._hub = self._hub, None
            self.recorder.s = None
            await hub.close("the session was played")
            await asyncio.to_thread(hub.profile.close)

    async def take(self, step: Step) -> None:
        match step:
            case Say():
                await self._say(step)
            case Rewind(prompts=prompts):
                await self._rewind(prompts)
            case Branch(prompts=prompts):
                await self._branch(prompts)
            case Switch(model=model):
                await self._switch(model)
            case Resume(in_process=in_process):
                await self._resume(in_process)
            case Speak(personality=personality):
                await self.hub.runtime(self._session_id).set_personality(personality)
                self.recorder.note("personality")
            case Anew():
                self.recorder.elsewhere()
                self._begin(self.hub.create(self._workspace, self.s.route).s)
            case Compact():
                await self._compact()

    async def _open_hub(self) -> None:
        profile = await asyncio.to_thread(Profile.load, _environ(self._home))
        self._hub = await open_hub(profile, source="tui", is_attended=True)
        self._hub._listeners.append((None, self.recorder))  # type: ignore[arg-type]  # one that hears at once

    def _begin(self, s: OpenSession) -> None:
        self._session_id = s.id
        self.recorder.s = s

    async def _say(self, step: Say) -> None:
        for name, text in step.files.items():
            (self._workspace / name).write_text(text)
        if step.images and self.s.is_stored:
            await self._show(step.images)
        self._simulator.answers = deque(step.answers)
        await self._until(TurnEnded, lambda: self.hub.submit(self._session_id, step.text))
        self._simulator.answers.clear()
        self.hub.runtime(self._session_id).queue_is_held = False

    async def _show(self, images: int) -> None:
        """As another front end would store them."""
        parts = [{"type": "image_url", "image_url": {"url": IMAGE}}] * images
        row = Message(self._session_id, Role.USER, "", time.time(), parts=json.dumps(parts))
        await self._written(lambda tables: tables.messages.append(row))
        await self.hub.catch_up()

    async def _rewind(self, prompts: int) -> None:
        asked = [row for row in self.s.rows if row.is_prompt][-prompts:]
        if asked:
            self.recorder.elsewhere()
            await self._written(lambda tables: tables.lineage.rewind(self._session_id, asked[0].id, time.time()))
            await self.hub.catch_up()
            self.recorder.note("rewind")

    async def _branch(self, prompts: int) -> None:
        rows = self.s.rows
        asked = [place for place, row in enumerate(rows) if row.is_prompt][-prompts:]
        if not asked or not any(row.role is not Role.NOTICE for row in rows[: asked[0]]):
            return
        last_id, now = rows[asked[0] - 1].id, time.time()
        new_id = new_session_id(now)
        await self._written(lambda tables: tables.lineage.branch(self._session_id, last_id, new_id, now))
        self.recorder.elsewhere()
        self._begin((await self.hub.open(new_id)).s)
        self.recorder.note("branch")

    async def _switch(self, model: Model) -> None:
        self.recorder.elsewhere()
        route = self.hub.models.resolve(f"{model.provider}:{model.name}", self.s.route)
        await self.hub.runtime(self._session_id).switch(route)
        self.recorder.note("switch")

    async def _resume(self, in_process: bool) -> None:
        if not self.s.is_stored:
            return
        await self.close()
        seen = await self._seen_by_a_process() if in_process else None
        await self._open_hub()
        self._begin((await self.hub.open(self._session_id)).s)
        if seen is not None:
            self.recorder.note_seen("process", seen)
        self.recorder.note("resume")

    async def _seen_by_a_process(self) -> dict[str, object]:
        command = (sys.executable, "-m", "tests.honesty.reopen", self._session_id)
        environ = {**_environ(self._home), "PYTHONPATH": os.pathsep.join(sys.path)}
        process = await asyncio.create_subprocess_exec(*command, env=environ, stdout=asyncio.subprocess.PIPE)
        shown, _ = await process.communicate()
        assert process.returncode == 0, "another process could not open the session"
        return json.loads(shown)

    async def _compact(self) -> None:
        if not self.s.is_stored:
            return
        try:
            await self._until(CompactionEnded, lambda: self.hub.compact(self._session_id))
        except UserError:
            pass  # there is nothing to compact yet

    async def _until(self, end: type[TurnEvent], begin: Callable[[], object]) -> None:
        """Begin something, and wait for its end; every question is answered with yes."""
        listener = self.hub.listen(self._session_id)
        try:
            begin()
            async with asyncio.timeout(STUCK_S):
                while True:
                    await listener.wait()
                    for event in listener.drain():
                        if isinstance(event, RequestOpened):
                            self.hub.answer(event.request.id, Decision(Approval.ALLOWED_ONCE))
                        if isinstance(event, end):
                            return
        finally:
            self.hub.leave(listener)

    async def _written(self, change: Callable[[Tables], T]) -> T:
        return await asyncio.wrap_future(self.hub.profile.db.write(change))


def _readings(s: OpenSession) -> int:
    """How many its model's weights were learned from by now."""
    return s.parts.weights.on(s.route).readings


def _environ(home: Path) -> dict[str, str]:
    return {"HERMES_HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"}


def _config(script: Script, simulator: Simulator) -> dict[str, object]:
    first = script.models[0]
    return {
        "model": {"default": first.name, "provider": first.provider},
        "probe_local": False,
        "providers": {model.provider: _provider(model, simulator) for model in script.models},
    }


def _provider(model: Model, simulator: Simulator) -> dict[str, object]:
    window = {} if model.declared is None else {"context_length": model.declared}
    return {
        "base_url": simulator.base_url(model),
        "api_mode": model.api_mode.value,
        "compatibility": {"echo_reasoning": model.is_echoed},
        "models": {model.name: window},
    }


def _is_answered(rows: list[Message]) -> bool:
    answered = {row.result.call_id for row in rows if row.result is not None}
    return all(call.id in answered for row in rows for call in row.calls)
