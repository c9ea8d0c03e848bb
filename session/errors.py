"""Errors that a person can meet: each is one sentence that says what happened and what to do."""

from __future__ import annotations

from typing import ClassVar


class UserError(Exception):
    """An error to show as it stands. `sentence` is filled with the values given; they are data and never format."""

    sentence: ClassVar[str] = "{reason}"

    def __init__(self, **values: object) -> None:
        super().__init__(self.sentence.format(**values))
        self.values = values


class ForeignDatabase(UserError):
    """A SQLite database of another program (its application_id is not ours)."""

    sentence = (
        "{path} belongs to another program ({found}). Nothing was changed. "
        "Set HERMES_HOME to another folder to keep sessions there."
    )


class NotADatabase(UserError):
    """Something other than a SQLite database stands where ours would."""

    sentence = (
        "{path} is not a SQLite database. Nothing was changed. Move it away, or set HERMES_HOME to another folder."
    )


class NewerDatabase(UserError):
    """The file was written by a later version of this program (openclaw/openclaw#115421)."""

    sentence = (
        "{path} was written by a newer hermes (format {found}; this one knows up to {known}). "
        "Nothing was changed. Update hermes to open it."
    )


class UnusableDatabase(UserError):
    """The file cannot be opened, read or written; `reason` is the system's or SQLite's own word."""

    sentence = (
        "{path} cannot be used: {reason}. Check its permissions, and that its disk works and has room, "
        "or set HERMES_HOME to another folder."
    )


class DamagedDatabase(UnusableDatabase):
    """SQLite cannot make sense of the file's pages."""

    sentence = (
        "{path} is damaged and cannot be used as it is: {reason}. "
        "`hermes sessions repair` tells how much of it can be read, and saves that."
    )


class UnsavedDatabase(UserError):
    """An older file was left as it is, because no copy of it could be made before its format changes."""

    sentence = (
        "{path} has an older format, and no copy could be made of it before it is brought up to date: {reason}. "
        "Nothing was changed. Free some space or check the folder's permissions, then start hermes again."
    )


class SearchlessSqlite(UserError):
    """This Python's SQLite was built without FTS5; looked at before the file is."""

    sentence = (
        "{path} needs SQLite's full-text search (FTS5), and the SQLite {version} of this Python was built without it. "
        "Nothing was changed. Run hermes with another Python, for example one from python.org."
    )


class BusyDatabase(UserError):
    """Another process held the write lock for longer than a write waits."""

    sentence = (
        "{path} was kept locked by another program for {waited_s:.0f} s, so nothing was stored. Close it and try again."
    )


class FailedWrite(UserError):
    """SQLite could not carry out a write (disk full, I/O error); the whole transaction was undone."""

    sentence = "This could not be stored in {path}: {reason}. Free some space or check the disk, then try again."


class VanishedDatabase(FailedWrite):
    """The file at the store's path is not the one that was opened: what would be written now, nobody would find."""

    sentence = (
        "{path} was {what} while hermes had it open, so nothing more can be stored in it. "
        "Put it back, or start hermes again."
    )


class ClosedDatabase(UserError):
    """A read or write was asked for after `close`."""

    sentence = "{path} is already closed, so nothing more can be read or stored."


class SessionDeleted(UserError):
    """A write into a session that was deleted, perhaps by another process (E18), or that never was."""

    sentence = "Session {session_id} was deleted, so nothing more is stored in it. Start a new one with /new."


class LeaseLost(UserError):
    """This process could not give a sign for so long that another one took the session over."""

    sentence = (
        "Another hermes took this session over, because this one could not be heard for a while. "
        "The turn was stopped here; open the session again to see how it went on."
    )


class TitleTaken(UserError):
    """A person gave a session the title of another one."""

    sentence = '"{title}" is already the name of session {holder}. Choose another name, or rename that session first.'


class EmptyTitle(UserError):
    """A person gave a session a title of which nothing can be seen."""

    sentence = "A name needs at least one character that can be seen. The session keeps the name it has."


class DamagedRow(UserError):
    """What was asked for would leave a row behind that cannot be read, or copy or bring back one (E09)."""

    sentence = (
        "Row {id} of this conversation is damaged, and it is not passed over silently, so nothing was changed. "
        "`hermes sessions repair` tells what is wrong with it."
    )


class NotInConversation(UserError):
    """The row that was pointed at was rewound, summarised, deleted, or is one of another session."""

    sentence = (
        "That message is no part of the conversation any more, so nothing was changed. Choose one that is still shown."
    )


class NotAPrompt(UserError):
    """A rewind goes back to something the person said, never to an answer, a result, a notice or a summary."""

    sentence = "Only a message of your own can be gone back to, so nothing was changed. Choose one of those."


class TurnUnderWay(UserError):
    """Rows cannot be taken out from under a turn."""

    sentence = "A turn is still under way in this session, so nothing was changed. Stop it or wait for its end first."


class NothingToRetry(UserError):
    """Nothing was said yet, or all that was said is summarised."""

    sentence = "There is no message to send again in this conversation. Type one instead."


class NothingToUndo(UserError):
    """No rewind stands in this session."""

    sentence = "There is no rewind to undo in this conversation."


class SaidSinceRewind(UserError):
    """Undoing the rewind now would put two conversations into one."""

    sentence = (
        "Something was said since that rewind, so it cannot be undone. "
        "To go another way and keep this one too, branch instead of rewinding: /branch."
    )


class ConversationMoved(UserError):
    """A summary was made of rows that are not those of the conversation any more."""

    sentence = "The conversation was changed while it was summarised, so it stays as it is. Compact it again if needed."


class NoCompactionToUndo(UserError):
    """No summary stands in the conversation whose rows are known, or it was rewound since."""

    sentence = "There is no compaction to undo in this conversation."


class AnsweredSinceCompaction(UserError):
    """A model has answered to the summary: with the rows back in its place the answer would follow on something else."""

    sentence = (
        "A model has answered since that compaction, so it cannot be undone. "
        "What it took out is still found by search and stands in an export."
    )


class UnusableCut(UserError):
    """A summary would take the place of nothing, or of a call without its results (E07)."""

    sentence = "The conversation cannot be cut at that place, so it stays as it is: {reason}. Cut it elsewhere."
