"""The draft of each session: it stays with its session, and is in the store a second behind the keys."""

from __future__ import annotations

from collections.abc import Callable

from textual.timer import Timer

from agent.commands.parse import may_hold_secret
from agent.hub import Hub
from agent.open_session import OpenSession
from agent.prompt_history import PromptHistory
from agent.unsent import Draft, UnsentDrafts
from session.errors import ClosedDatabase, UserError
from tui.screens.completer import SessionCompleter
from tui.widgets.prompt_composer import PromptComposer

SAVED_S = 1.0  # behind the first key that changed it


def composer_for(
    hub: Hub, shown: Callable[[], str], send: Callable[[str], None], leave: Callable[[], None]
) -> tuple[PromptComposer, Drafts]:
    """A composer for the sessions of a profile. `shown` is the id of the one that is written to."""
    profile = hub.profile
    masking = profile.secrets.masking
    history = PromptHistory(profile.db, masking)
    completer = SessionCompleter(hub, shown)
    composer = PromptComposer(send, leave, history, completer, profile.settings.display, profile.environ)
    return composer, Drafts(composer, UnsentDrafts(profile.db, masking))


class Drafts:
    """Puts drafts into a composer and takes them out of it."""

    def __init__(self, composer: PromptComposer, unsent: UnsentDrafts) -> None:
        self._composer = composer
        self._unsent = unsent
        self._texts: dict[str, str] = {}
        self._shown: OpenSession | None = None
        self._saved = ""  # what the store has of the shown one
        self._timer: Timer | None = None
        composer.on_change, composer.on_gone = self._note, self.save

    def bring(self, s: OpenSession) -> None:
        """The draft of this session takes the place of the one that stands there."""
        if self._shown is not None:
            self.save()
            self._texts[self._shown.id] = self._composer.text
        is_first = self._shown is None
        self._shown, text = s, self._texts.get(s.id)
        if not is_first or text:
            self._composer.set_draft(text or "")
        self._saved = self._composer.text
        if text is None:
            self._composer.run_worker(self._find(s))

    def give_back(self, session_id: str, text: str) -> None:
        """Put a text into the draft of a session, unless something else was written there meanwhile."""
        if self._shown is None or session_id != self._shown.id:
            self._texts[session_id] = self._texts.get(session_id) or text
        elif not self._composer.text:
            self._composer.set_draft(text)

    def save(self) -> None:
        """Keep the draft as it is now."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._shown is None or self._composer.text == self._saved:
            return
        self._saved = self._composer.text
        text = "" if may_hold_secret(self._saved) else self._saved
        draft = Draft(text, self._composer.pastes.held(text))
        try:
            self._unsent.keep(self._shown.id, self._shown.session.cwd, draft)
        except ClosedDatabase:
            return  # the profile is closed already; what is newer than a second is lost with it

    def _note(self) -> None:
        if self._timer is None:
            self._timer = self._composer.set_timer(SAVED_S, self.save)

    async def _find(self, s: OpenSession) -> None:
        """What an earlier process left unsent. Where something was written meanwhile, the history has it."""
        try:
            found = await self._unsent.of(s.id, s.session.cwd, is_new=not s.is_stored)
        except UserError as error:
            self._composer.notify(str(error), severity="warning", markup=False)
            return
        if not found.text:
            return
        text = self._composer.pastes.adopt(found.text, found.pasted)
        if self._shown is not s:
            self._texts[s.id] = self._texts.get(s.id) or text
        elif self._composer.text:
            self._composer.remember(text)
        else:
            self._composer.set_draft(text)
            self._saved = text
