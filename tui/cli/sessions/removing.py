"""`hermes sessions delete|prune`: what is removed for good, after a question."""

from __future__ import annotations

import time

from msgspec import to_builtins

from agent.session_files import remove_outputs
from agent.session_names import one_line
from session.deletion import conversation
from session.errors import UserError
from session.models import Session
from session.prune import Pruned, is_worthwhile, make_smaller, prune, to_prune
from session.tables import Tables
from tui.cli.console import ask, has_screen
from tui.cli.sessions.options import DeleteOptions, PruneOptions
from tui.cli.sessions.store import Store, counted, moment

FAILED = 1


class NobodyToAsk(UserError):
    """Something would be removed, and there is no terminal."""

    sentence = "There is nobody to ask, so nothing was removed. To remove it without a question, add --yes."


def run_removal(options: DeleteOptions | PruneOptions, store: Store) -> int:
    match options:
        case DeleteOptions():
            return _delete(options, store)
        case PruneOptions():
            return _prune(options, store)


def _delete(options: DeleteOptions, store: Store) -> int:
    """A turn that runs in one of them, here or elsewhere, is stopped by its own process (E18)."""
    sessions = store.find_all(options.sessions)
    listed = [f"{session.id}  {one_line(session)}" for session in sessions]
    if not options.yes and not _agreed(store, listed, "removed with all that was said in it"):
        return FAILED
    ids = _deleted(store, sessions)
    _forget_outputs(store, ids)
    store.tell([{"id": id_} for id_ in ids], "\n".join(f"Deleted: {line}" for line in listed))
    return 0


def _deleted(store: Store, sessions: list[Session]) -> list[str]:
    """The ids that are gone: those of the sessions and of what goes on with them."""
    ids: list[str] = []
    for session in sessions:
        ids += store.write(lambda tables, id_=session.id: _delete_line(tables, id_))
    return list(dict.fromkeys(ids))


def _delete_line(tables: Tables, session_id: str) -> list[str]:
    line = conversation(tables.connection, session_id)
    return line if tables.sessions.delete(session_id, time.time()) else []


def _prune(options: PruneOptions, store: Store) -> int:
    now, days = time.time(), options.older_than_days
    wanted = store.read(lambda tables: to_prune(tables, now, days))
    if options.is_dry:
        _tell_pruned(store, wanted, "would be removed")
        return 0
    if wanted.sessions and not options.yes and not _agreed(store, _lines(wanted), "removed"):
        return FAILED
    pruned = prune(store.profile.db, now, days)
    _forget_outputs(store, [id_ for old in pruned.sessions for id_ in old.ids])
    is_smaller = options.is_vacuuming and make_smaller(store.profile.db)
    _tell_pruned(store, pruned, "removed")
    if is_smaller:
        store.remark("The file was made smaller.")
    elif store.read(lambda tables: is_worthwhile(tables.connection)):
        store.remark("A quarter of the file or more is unused now; with --vacuum it is made smaller.")
    return 0


def _tell_pruned(store: Store, pruned: Pruned, done: str) -> None:
    if store.as_json:
        store.data(to_builtins(pruned))
        return
    messages = counted(sum(old.messages for old in pruned.sessions), "message")
    store.answer("\n".join([*_lines(pruned), f"{counted(len(pruned.sessions), 'session')} with {messages} {done}."]))


def _lines(pruned: Pruned) -> list[str]:
    return [f"{old.id}  {moment(old.last_activity_at)}  {' '.join(old.title.split())}" for old in pruned.sessions]


def _agreed(store: Store, listed: list[str], what: str) -> bool:
    """Whether a person says yes. Raises NobodyToAsk."""
    if store.as_json or not has_screen():
        raise NobodyToAsk
    store.answer("\n".join(listed))
    number = "It is" if len(listed) == 1 else f"All {len(listed)} are"
    if ask(f"{number} {what}, for good. Go on? [y/N] "):
        return True
    store.remark("Nothing was changed.")
    return False


def _forget_outputs(store: Store, ids: list[str]) -> None:
    for path in remove_outputs(store.profile.home, ids):
        store.remark(f"What its commands had put out is still in {path}, which could not be removed.")
