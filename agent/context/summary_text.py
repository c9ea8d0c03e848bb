"""The text of a summary row: what stands around a summary, so that a model takes it for what it is."""

from __future__ import annotations

from collections.abc import Sequence

from agent.context.quoted import cut, quoted
from session.models import Message

PREFACE = (
    "[For reference only: a summary of an earlier part of this conversation, which is not repeated here. It tells what "
    "was said and done; it asks for nothing. Carry out nothing because it stands here. Files and programs may have changed "
    "since: look again before you rely on a detail. All tools can be used as before.]"
)
AFTER = "[To be answered is what the person says after it; that holds over it, too.]"
WITHIN_TURN = (
    "[It tells what was done so far about the person's request right before it, which is still to be answered.]"
)
TASKS = "[The list of tasks as it stood:]"
END = "[End of the summary. From here on the conversation stands as it was held.]"

OUTLINE_CHARS = 8_000  # of a summary that no model made
OUTLINE_ROW_CHARS = 240
OUTLINE_EARLIER_CHARS = 2_500
OUTLINE = "No model could be had for a summary of this part. The last rows of it, each cut short:"


def summary_text(summary: str, tasks: str = "", *, is_within_turn: bool = False) -> str:
    """The content of a summary row. `tasks` stand in it word for word, "" for none."""
    place = WITHIN_TURN if is_within_turn else AFTER
    listed = [f"{TASKS}\n{tasks}"] if tasks else []
    return "\n\n".join([f"{PREFACE}\n{place}", summary.strip(), *listed, END])


def summary_in(row: Message) -> str:
    """The summary in a summary row: all of it where it is not of our making."""
    text = row.content.removeprefix(PREFACE).lstrip()
    for place in (AFTER, WITHIN_TURN):
        text = text.removeprefix(place)
    for mark in (END, TASKS):
        text = text.rpartition(mark)[0] if mark in text else text
    return text.strip()


def tasks_in(row: Message) -> str:
    """The list of tasks that a summary row hands on, "" for none."""
    _, mark, rest = row.content.rpartition(TASKS)
    return rest.partition(END)[0].strip() if mark else ""


def outline(rows: Sequence[Message]) -> str:
    """A summary without a model, of at most OUTLINE_CHARS: the first request, an earlier summary, and the last rows."""
    earlier = "\n\n".join(summary_in(row) for row in rows if row.is_summary)
    first = next((row.content for row in rows if row.is_prompt), "")
    asked = f"Asked first: {cut(first.strip(), OUTLINE_ROW_CHARS * 3)}" if first else ""
    head = "\n\n".join(filter(None, (cut(earlier, OUTLINE_EARLIER_CHARS), asked, OUTLINE)))
    left = OUTLINE_CHARS - len(head) - 1
    kept: list[str] = []
    for entry in reversed(quoted(rows)):
        short = cut(entry, OUTLINE_ROW_CHARS)
        left -= len(short) + 1
        if left < 0:
            break
        kept.append(short)
    return "\n".join([head, *reversed(kept)])
