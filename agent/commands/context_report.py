"""What is told of a context, of compacting it and of a switch of models, as reports."""

from __future__ import annotations

from collections.abc import Sequence

from agent.commands.report import BLANK, Excerpts, Figures, Part, Report, Sentence, Tone
from agent.commands.table import ContextAsked
from agent.context.meter import ContextFigure
from agent.context.plan import CompactionPlan
from agent.context.preflight import Switch
from agent.context.split import ContextSplit
from agent.context.words import (
    cautions,
    dollars,
    figure_sentence,
    share,
    source_sentence,
    threshold_sentence,
    tokens,
    used_text,
)
from session.models import Message, Role, Route

LISTED = 20  # messages at each end of a list of many
BEGINNING_CHARS = 400  # of a message; a line shows no more


def context_asked(split: ContextSplit, plan: CompactionPlan, route: Route, now: float) -> ContextAsked:
    shares = [(one.name, tokens(one.tokens), *_of(one.tokens, split.figure)) for one in split.shares]
    table = Figures(("", "tokens", *_of_head(split.figure)), (*shares, *free(split.figure)))
    return ContextAsked(split, tuple(about(split.figure, route, now)), table, tuple(in_short(plan, split.figure)))


def about(figure: ContextFigure, route: Route, now: float) -> list[Part]:
    """How full it is, what that rests on, and what is odd about it."""
    said: list[Part] = [Sentence(figure_sentence(figure)), Sentence(source_sentence(figure, now), Tone.QUIET)]
    if at := threshold_sentence(figure):
        said.append(Sentence(at, Tone.QUIET))
    if figure.window is None:
        key = f"providers.{_key(route.provider)}.models.{_key(route.model)}.context_length"
        said.append(Sentence(f"Say how many it takes: hermes config set '{key}' TOKENS", Tone.WARNING))
    return said + [Sentence(text, Tone.WARNING) for text in cautions(figure)]


def _key(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() else f'"{name}"'


def free(figure: ContextFigure) -> list[tuple[str, str, str]]:
    """What is left, below the threshold and above it."""
    if not figure.window:
        return []
    limit = min(figure.threshold or figure.window, figure.window)
    below = max(0, limit - figure.used)
    rows = [("Free", tokens(below), share(below, figure.window))]
    if limit < figure.window:
        above = max(0, figure.window - max(limit, figure.used))
        rows.append(("Past compaction", tokens(above), share(above, figure.window)))
    return rows


def _of(part: int, figure: ContextFigure) -> tuple[str, ...]:
    return (share(part, figure.window),) if figure.window else ()


def _of_head(figure: ContextFigure) -> tuple[str, ...]:
    return ("of window",) if figure.window else ()


def in_short(plan: CompactionPlan, figure: ContextFigure) -> list[Part]:
    """What compacting now would do, in figures."""
    title = Sentence("Compacting it now", Tone.TITLE)
    if plan.why_not:
        return [title, Sentence(plan.why_not)]
    return [title, _plan_figures(plan, figure), Sentence("/compact preview lists the messages.", Tone.QUIET)]


def preview(plan: CompactionPlan, figure: ContextFigure) -> Report:
    """What compacting now would do, down to the messages."""
    if plan.why_not:
        return Report("Compaction preview", (Sentence(plan.why_not),))
    about = "Nothing is changed yet. /compact does it, and /compact undo brings it back until the next answer."
    parts = (("Kept at the start", plan.head), ("Summarised", plan.middle), ("Kept at the end", plan.tail))
    listed = [part for title, rows in parts if rows for part in (Sentence(title, Tone.TITLE), *_excerpts(rows))]
    return Report("Compaction preview", (Sentence(about, Tone.QUIET), BLANK, _plan_figures(plan, figure), *listed))


def _plan_figures(plan: CompactionPlan, figure: ContextFigure) -> Figures:
    """A plan is an estimate: in shares of the figure, which a server may have counted. What a summary takes is a limit."""

    def of(count: int) -> int:
        return count * figure.used // plan.before if plan.before else count

    summaries = 1 if plan.middle else 0
    kept = len(plan.head) + len(plan.tail)
    rows = [
        ("System prompt and tools", "", tokens(of(plan.fixed_tokens))),
        ("Kept at the start", f"{len(plan.head):,}", tokens(of(plan.head_tokens))),
        ("Summarised", f"{len(plan.middle):,}", tokens(of(plan.middle_tokens))),
        ("Its summary, at most", f"{summaries}", tokens(plan.summary_tokens)),
        ("Kept at the end", f"{len(plan.tail):,}", tokens(of(plan.tail_tokens))),
        ("Results in it, shortened by", f"{len(plan.cut):,}", tokens(of(plan.cut_tokens))),
    ]
    after = of(plan.before - plan.middle_tokens - plan.cut_tokens) + plan.summary_tokens
    now = ("All of it now", f"{kept + len(plan.middle):,}", used_text(figure))
    then = ("Afterwards at most", f"{kept + summaries:,}", f"~{tokens(after)}")
    return Figures(("", "messages", "tokens"), (*(row for row in rows if row[1] != "0"), now, then))


def _excerpts(rows: Sequence[Message]) -> list[Part]:
    told = [_excerpt(row) for row in rows]
    if len(told) <= 2 * LISTED + 1:
        return [Excerpts(tuple(told))]
    more = Sentence(f"… {len(told) - 2 * LISTED:,} more …", Tone.QUIET)
    return [Excerpts(tuple(told[:LISTED])), more, Excerpts(tuple(told[-LISTED:]))]


def _excerpt(row: Message) -> tuple[str, str]:
    begins = " ".join(row.content[:BEGINNING_CHARS].split())
    called = ", ".join(call.name for call in row.calls)
    match row.role:
        case _ if row.is_summary:
            return "summary", begins
        case Role.USER:
            return "you", begins
        case Role.TOOL:
            return row.result.tool if row.result else "tool", begins
        case Role.NOTICE:
            return "notice", begins
        case _:
            return "model", begins or (f"calls {called}" if called else "")


def switch_report(current: Route, ahead: Switch) -> Report:
    """What a switch comes to, in figures, and what follows from them."""
    rows = [
        ("This conversation", f"~{tokens(ahead.used)}"),
        (f"{ahead.route.model} takes", tokens(ahead.window) if ahead.window else "unknown"),
        ("It is compacted at", tokens(ahead.threshold) if ahead.threshold and ahead.window else ""),
        ("Thinking left behind", f"~{tokens(ahead.dropped_thinking)}" if ahead.dropped_thinking else ""),
        ("Sending it again", f"~{dollars(ahead.cost)}" if ahead.cost else ""),
    ]
    return Report(
        f"Let {ahead.route.model} go on?",
        (Figures(("", ""), tuple(row for row in rows if row[1])), BLANK, *_consequences(current, ahead)),
    )


def _consequences(current: Route, ahead: Switch) -> list[Part]:
    said: list[Part] = []
    if not ahead.fits:
        said.append(Sentence("The conversation does not fit that model as it is.", Tone.WARNING))
    if ahead.compacted is not None:
        said.append(
            Sentence(
                f"Most of it would become a summary before {ahead.route.model} answers: about {tokens(ahead.compacted)}"
                " are left at most."
            )
        )
    elif ahead.why_not:
        said.append(Sentence(ahead.why_not))
    said.append(Sentence(f"Otherwise {current.model} goes on, and nothing is changed.", Tone.QUIET))
    return said
