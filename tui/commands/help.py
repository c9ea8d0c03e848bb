"""All commands and keys by their sections, from the tables that define them: for help and for the palette."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace
from textual.binding import Binding, BindingType

from agent.commands.builtin import COMMANDS, usage
from tui import keys
from tui.keymap import Chosen, keys_of
from tui.widgets.entry_rows import Entry

SECTIONS: Mapping[str, Sequence[BindingType]] = {
    "Writing": [*keys.COMPOSER_KEYS, *keys.PROMPT_KEYS],
    "In the queue": keys.QUEUE_KEYS,
    "In a pasted text": keys.PASTED_KEYS,
    "Conversation and sessions": keys.MAIN_KEYS,
    "Reading the conversation": keys.READING_KEYS,
    "Finding in the conversation": keys.FIND_KEYS,
    "In the list of prompts": keys.OUTLINE_KEYS,
    "In the list of sessions": [*keys.SESSION_LIST_KEYS, *keys.SIDEBAR_KEYS],
    "Looking at a session": keys.PREVIEW_KEYS,
    "In a search": keys.SEARCH_KEYS,
    "When a call asks": keys.APPROVAL_KEYS,
    "What is always allowed": keys.ALWAYS_KEYS,
    "Denying with words": keys.WORDS_KEYS,
    "When the model asks you": keys.QUESTION_KEYS,
    "A yes or a no": keys.CONFIRM_KEYS,
    "A first model, and trust": [*keys.SETUP_KEYS, *keys.TRUST_KEYS],
    "Going back": keys.REWIND_KEYS,
    "Choosing a model": keys.MODEL_KEYS,
    "Before a model is switched": [*keys.SWITCH_KEYS, *keys.BUSY_SWITCH_KEYS],
    "Choosing a personality": keys.PERSONALITY_KEYS,
    "Asking for a key": keys.KEY_KEYS,
    "On a page": keys.PAGE_KEYS,
    "In this list": keys.LISTING_KEYS,
    "Changing a setting": keys.SETTING_KEYS,
    "Anywhere": keys.APP_KEYS,
}
_BINDINGS = {one.id or "": one for table in SECTIONS.values() for one in table if isinstance(one, Binding)}
RUNNABLE = ("app", "main", "composer", "prompt")  # whose actions can be run from a list, by the beginning of their ids


def command_entries() -> Iterator[Entry]:
    for command in COMMANDS:
        yield Entry(f"command:{command.name}", "Commands", usage(command), command.summary)


def key_entries(chosen: Chosen) -> Iterator[Entry]:
    """Every key, as it is now; `chosen` are those of the person."""
    for section, table in SECTIONS.items():
        for binding in table:
            if isinstance(binding, Binding):
                more = f"Other keys for it: keys.{binding.id} in config.yaml."
                name = spoken(keys_of(binding, chosen))
                yield Entry(f"key:{binding.id}", section, name, binding.tooltip, more=more)


def named_key_entries(chosen: Chosen) -> Iterator[Entry]:
    """The same with their names at the edge; of those that a person changed, also what they were."""
    for entry in key_entries(chosen):
        binding = _BINDINGS[name := entry.key.partition(":")[2]]
        is_own = list(keys_of(binding, chosen)) != binding.key.split(",")
        more = f"Yours, in the place of {spoken(binding.key.split(','))}. {entry.more}" if is_own else entry.more
        yield replace(entry, tail=f"{name} (yours)" if is_own else name, more=more)


def action_entries(chosen: Chosen) -> Iterator[Entry]:
    """What keys do on the main screen, by its name."""
    for table in (keys.MAIN_KEYS, keys.PROMPT_KEYS, keys.APP_KEYS):
        for binding in table:
            if isinstance(binding, Binding):
                told = spoken(keys_of(binding, chosen)[:1])
                yield Entry(f"key:{binding.id}", "Keys", binding.description, binding.tooltip, told)


def binding_of(name: str) -> Binding | None:
    """The binding of the main screen with this id."""
    if name.partition(".")[0] not in RUNNABLE:
        return None
    tables = (keys.APP_KEYS, keys.MAIN_KEYS, keys.COMPOSER_KEYS, keys.PROMPT_KEYS)
    found = (one for table in tables for one in table if isinstance(one, Binding) and one.id == name)
    return next(found, None)


def spoken(names: Sequence[str]) -> str:
    """Keys as they are written on a keyboard."""
    told = ", ".join(names)
    return told.replace("escape", "esc").replace("pageup", "page up").replace("pagedown", "page down")
