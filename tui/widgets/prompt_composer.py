"""The composer of the main screen: what is pasted, recalled and completed in a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from rich.text import Text
from textual import events
from textual.content import Content
from textual.widgets.text_area import EditResult, Location

from agent.commands.parse import MARK, may_hold_secret
from agent.commands.suggestions import Suggestion
from agent.config.display_settings import DisplaySettings, SendKey
from agent.image_files import ImageFile
from agent.literal import visible
from agent.prompt_history import PromptHistory
from session.errors import UserError
from tui.app_of import app_of
from tui.hints import with_keys
from tui.keys import PROMPT_KEYS
from tui.widgets.completion import Completer, Kind, Token, as_suggestions, token_before
from tui.widgets.composer import Composer, clean_paste
from tui.widgets.pastes import Pastes, folds
from tui.widgets.recall import Recall
from tui.widgets.suggestions import Suggestions

Span = tuple[Location, Location]

RUNS = "runs a command"
LONGEST_OPEN = 100_000  # characters that can be written in without delay,
LONGEST_LINE = 10_000  # where no line is longer than this


class PromptComposer(Composer):
    """A composer that folds long pastes, remembers what was written, and completes commands and paths."""

    BINDINGS = PROMPT_KEYS
    COMPONENT_CLASSES = {"prompt--label"}  # noqa: RUF012 - as Textual declares it
    DEFAULT_CSS = "PromptComposer .prompt--label { color: $text-accent; text-style: bold; }"

    def __init__(
        self,
        send: Callable[[str], None],
        leave: Callable[[], None],
        history: PromptHistory,
        completer: Completer,
        settings: DisplaySettings,
        environ: Mapping[str, str],
    ) -> None:
        super().__init__(send, leave)
        self.settings = settings
        self.pastes = Pastes()
        self.suggestions = Suggestions(self._take_marked)
        self.on_change: Callable[[], None] = lambda: None
        self.on_gone: Callable[[], None] = lambda: None
        self.on_pasted: Callable[[str], None] = lambda _: None
        self._history = history
        self._completer = completer
        self._environ = environ  # where the person's editor is named
        self._recall = Recall(history, self.pastes)
        self.match_cursor_bracket = False  # a label begins and ends with one
        self._suggested_for: Token | None = None
        self._wanted: Token | None = None  # asked for by Tab
        self._quiet = ""  # a draft that was put here by others: nothing is suggested for it

    # --- the draft

    @property
    def prompt(self) -> str:
        """The draft with each pasted text in full."""
        return self.pastes.expanded(self.text)

    @property
    def images(self) -> tuple[str, ...]:
        """The paths of the images in the draft."""
        return self.pastes.images(self.text)

    def units(self, line: str) -> Iterable[tuple[int, int]]:
        return self.pastes.spans(line)

    def set_draft(self, text: str) -> None:
        super().set_draft(text if is_open_to_keys(text) else self.pastes.fold(self.pastes.expanded(text)))
        self._be_quiet()

    def clear(self) -> EditResult:
        """Let go of the draft; the history has it."""
        self.remember(self.text)
        return super().clear()

    def take_over(self, other: PromptComposer) -> None:
        """Go on with the draft of another composer."""
        self.set_draft(self.pastes.adopt(other.text, other.pastes.held(other.text)))

    def remember(self, text: str) -> None:
        """Keep a text in the history."""
        if text.strip() and not may_hold_secret(text):
            self._history.add(text, self.pastes.held(text))

    def action_send(self) -> None:
        self.suggestions.hide()
        self._send(self.prompt)

    def _put(self, text: str) -> None:
        """Another draft that undo takes away again."""
        self.history.checkpoint()
        self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)
        self.history.checkpoint()
        self.move_cursor(self.document.end)
        self._be_quiet()

    def _be_quiet(self) -> None:
        self._quiet = self.text
        self.suggestions.hide()

    # --- keys

    def enter_sends(self) -> bool:
        return self.settings.send_key is SendKey.ENTER and super().enter_sends()

    async def on_key(self, event: events.Key) -> None:
        """Before the composer's own, which this does not take the place of."""
        if self.suggestions.marked is None:
            return
        match event.key:
            case "up" | "down":
                self.suggestions.move(-1 if event.key == "up" else 1)
            case "escape":
                self._be_quiet()
            case "enter" if self.suggestions.is_moved:
                self._take_marked()
            case _:
                return
        event.stop()
        event.prevent_default()

    async def action_older(self) -> None:
        """The line above; on the first one, what was written before."""
        before_cursor = self.document.get_line(0)[: self.cursor_location[1]]
        is_first = self.navigator.is_first_wrapped_line(self.cursor_location)
        if not is_first or not await self._recalled(older=before_cursor):
            self.action_cursor_up()

    async def action_newer(self) -> None:
        """The line below; on the last one, what was written after it, and in the end the draft."""
        is_last = self.navigator.is_last_wrapped_line(self.cursor_location)
        if not is_last or not await self._recalled():
            self.action_cursor_down()

    async def _recalled(self, older: str | None = None) -> bool:
        try:
            found = await (self._recall.newer(self.text) if older is None else self._recall.older(self.text, older))
        except UserError as error:
            self._say(str(error))
            return False
        if found is None:
            return older is not None and self._recall.is_on_the_way(self.text)  # at the end of the way nothing moves
        self._put(found)
        return True

    # --- pasting

    def pasted(self, text: str) -> str:
        text = clean_paste(text)
        return self.pastes.fold(text) if folds(text, self.settings) else text

    def heed_paste(self, text: str) -> None:
        if not self.text.startswith(("/", MARK)) or self.text == text:  # the path belongs to a command
            self.on_pasted(text)

    def attach(self, images: Sequence[ImageFile], instead_of: str = "") -> None:
        """Put images at the cursor, or in the place of what was pasted. Where that was changed meanwhile it stays."""
        labels = " ".join(map(self.pastes.picture, images))
        where: Span = (self.selection.start, self.selection.end)
        if instead_of:
            if (at := self.text.rfind(instead_of)) < 0:
                return
            where = location_at(self.text, at), location_at(self.text, at + len(instead_of))
        self.history.checkpoint()
        if result := self.replace(f"{labels} ", *where, maintain_selection_offset=False):
            self.move_cursor(result.end_location)
        self.history.checkpoint()

    # --- what was pasted, and the editor

    def label_at_cursor(self) -> tuple[str, Span] | None:
        """The label that the cursor stands on or behind, and where."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        for start, end in self.pastes.spans(line):
            if start <= column <= end:
                return line[start:end], ((row, start), (row, end))
        return None

    def action_open_pasted(self) -> None:
        """Show the text of the label at the cursor."""
        from tui.screens.pasted import PastedScreen, Read

        if (found := self.label_at_cursor()) is None:
            self._say("The cursor stands on no pasted text.")
            return
        label, where = found
        text = self.pastes.text_of(label)
        if self.pastes.is_image(label):
            self._say(f"{visible(text)}\nDelete its label to send the prompt without it.")
            return
        if not is_open_to_keys(text):
            self._say(
                with_keys(
                    self, "This text is too long to be shown here. {prompt.edit_outside} opens it in your editor."
                )
            )
            return

        def take(read: Read | None) -> None:
            is_there = self.get_text_range(*where) == label
            if read is not None and is_there and (read.is_unfolded or read.text != text):
                self._put_pasted(where, read.text, is_unfolded=read.is_unfolded)

        app_of(self).push_screen(PastedScreen(label, text), take)

    def action_queue(self) -> None:
        """To the queued prompts, where there are any."""
        from tui.widgets.queue import QueueBar

        bar = self.screen.query_one(QueueBar)
        if bar.display:
            bar.focus()
        else:
            self._say("Nothing is queued.")

    def edit_outside(self, text: str) -> None:
        """Open the person's editor on the draft, or on this text where there is none."""
        if text and not self.text:
            self._put(text)
        self.action_edit_outside()

    def action_edit_outside(self) -> None:
        self.run_worker(self._edit_outside, group="editor", exclusive=True)

    async def _edit_outside(self) -> None:
        """The draft in the person's editor, or the pasted text that the cursor stands on."""
        from tui.screens.outside_editor import edited

        found, draft = self.label_at_cursor(), self.text
        if found is not None and self.pastes.is_image(found[0]):
            found = None
        text = draft if found is None else self.pastes.text_of(found[0])
        try:
            after = await edited(app_of(self), self._environ, text)
        except UserError as error:
            self._say(str(error))
            return
        if after == text or self.text != draft:
            return
        if found is None:
            self._put(after)
        else:
            self._put_pasted(found[1], after)

    def _put_pasted(self, where: Span, text: str, *, is_unfolded: bool = False) -> None:
        """Another text in the place of a label: under a label of its own, or as it is."""
        self.history.checkpoint()
        self.replace(text if is_unfolded else self.pasted(text), *where, maintain_selection_offset=False)
        self.history.checkpoint()

    def _say(self, text: str) -> None:
        app_of(self).notify(text, severity="warning", markup=False)

    # --- completing

    def on_text_area_changed(self) -> None:
        self.on_change()
        self._tell_what_enter_does()
        is_written = self.has_focus and self.text != self._quiet
        token = self._token() if is_written else None
        if token is None or token.kind is Kind.PATH:
            self.suggestions.hide()
        else:
            self._quiet = ""
            self._suggest(token)

    def _tell_what_enter_does(self) -> None:
        """That a draft is a command for the shell must be seen before it is sent."""
        runs = self.document.get_line(0).startswith(MARK)
        if runs and not self.border_title:
            self.border_title = Content(RUNS)
        elif not runs and self.border_title:
            self.border_title = None

    def on_unmount(self) -> None:
        self.on_gone()

    def on_blur(self) -> None:
        self.suggestions.hide()

    def action_complete(self) -> None:
        """Take what is suggested, or ask what could be."""
        token = self._token()
        if self.suggestions.marked is not None and token == self._suggested_for:
            self._take_marked()
        elif token is not None:
            self._wanted = token
            self._suggest(token)
        else:
            self.screen.focus_next()

    def _token(self) -> Token | None:
        row, column = self.cursor_location
        return token_before(self.document.get_line(row)[:column], is_first=row == 0)

    def _suggest(self, token: Token) -> None:
        if token.kind is Kind.COMMAND:
            _, found = self._completer.command(token.written)
            self._offer(token, found)
        else:
            self.run_worker(partial(self._suggest_paths, token), group="suggest", exclusive=True)

    async def _suggest_paths(self, token: Token) -> None:
        is_file = token.kind is Kind.FILE
        found = await (self._completer.files if is_file else self._completer.paths)(token.written)
        if token == self._token():
            self._offer(token, as_suggestions(token.kind, found))

    def _offer(self, token: Token, found: Sequence[Suggestion]) -> None:
        """Show what could be meant. Where it was asked for and is the only one, it is taken at once."""
        is_wanted, self._wanted = token == self._wanted, None
        self._suggested_for = token
        self.suggestions.offer(found)
        if is_wanted and len(found) == 1:
            self._take_marked()

    def _take_marked(self) -> None:
        """Write the marked suggestion in the place of what it completes; the rest of the line stays."""
        chosen, token = self.suggestions.marked, self._token()
        if chosen is None or token is None or token != self._suggested_for:
            self.suggestions.hide()  # it was for something else
            return
        start = token.start
        if token.kind is Kind.COMMAND:
            start, _ = self._completer.command(token.written)
        row, column = self.cursor_location
        follows = self.document.get_line(row)[column : column + 1]
        blank = " " if chosen.is_whole and token.kind is not Kind.COMMAND and not follows.isspace() else ""
        self.history.checkpoint()
        self.replace(chosen.text + blank, (row, start), (row, column), maintain_selection_offset=False)
        self.focus()
        if chosen.is_whole:
            self._be_quiet()

    # --- how it is drawn

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        for start, end in self.pastes.spans(line.plain):
            is_under_cursor = self.has_focus and self.cursor_location == (line_index, start)
            name = "text-area--cursor" if is_under_cursor else "prompt--label"
            line.stylize(self.get_component_rich_style(name), start, end)
        return line


def location_at(text: str, index: int) -> Location:
    return text.count("\n", 0, index), index - text.rfind("\n", 0, index) - 1


def is_open_to_keys(text: str) -> bool:
    """Whether a text can be written in without delay."""
    return len(text) <= LONGEST_OPEN and all(len(line) <= LONGEST_LINE for line in text.split("\n"))
