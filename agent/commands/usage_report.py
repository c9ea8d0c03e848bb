"""What was spent, as a report: tokens by kind, requests and dollars, of a session and of the last days."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from agent.commands.report import BLANK, Figures, Part, Report, Sentence, Tone
from agent.context.words import dollars, percent, tokens
from agent.providers.quotas import Limit
from agent.spending import DAYS, Line, Spending, cached_share, cost, total

HEADS = ("", "calls", "input", "from cache", "to cache", "output", "thinking", "cost")
UNKNOWN = "?"  # a cost whose price nobody has told


def usage_report(spending: Spending, limits: Sequence[Limit] = ()) -> Report:
    """`limits` are those of the server that answers now."""
    lines = [line for day in spending.days.values() for line in day]
    return Report(
        "Usage",
        (
            *_part("This session", _by_model(spending.session), spending.session),
            *_part(f"All sessions by day, the last {DAYS}", spending.days, lines),
            *_part(f"All sessions by model, the last {DAYS} days", _by_model(lines), lines),
            *_limits(limits),
            *_unpriced([*spending.session, *lines]),
        ),
    )


def _limits(limits: Sequence[Limit]) -> list[Part]:
    if not limits:
        return []
    told: list[Part] = [Sentence(str(limit)) for limit in limits]
    return [BLANK, Sentence("What the server of this session still allows", Tone.TITLE), *told]


def _part(title: str, groups: Mapping[str, Sequence[Line]], lines: Sequence[Line]) -> list[Part]:
    if not lines:
        return [Sentence(title, Tone.TITLE), Sentence("Nothing was sent to a model.", Tone.QUIET)]
    rows = [_row(name, group) for name, group in groups.items()]
    if len(rows) > 1:
        rows.append(_row("Together", lines))
    said: list[Part] = [Sentence(title, Tone.TITLE), _without_nothing(Figures(HEADS, tuple(rows)))]
    cached = cached_share(total(lines))
    if cached:
        said.append(Sentence(f"{percent(cached)} of what was read came from a cache.", Tone.QUIET))
    return said


def _by_model(lines: Iterable[Line]) -> dict[str, list[Line]]:
    groups: dict[str, list[Line]] = {}
    for line in lines:
        spent = line.spent
        task = f", for a {spent.task}" if spent.task else ""
        groups.setdefault(f"{spent.provider}:{spent.model}{task}", []).append(line)
    return groups


def _row(name: str, lines: Sequence[Line]) -> tuple[str, ...]:
    usage, spent = total(lines), cost(lines)
    kinds = (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning)
    requests = sum(line.spent.requests for line in lines)
    return (name, f"{requests:,}", *map(tokens, kinds), UNKNOWN if spent is None else dollars(spent))


def _without_nothing(table: Figures) -> Figures:
    """Most servers know no cache or no thinking: a column of zeros is left out."""
    kept = [column for column in range(len(table.heads)) if any(row[column] != "0" for row in table.rows)]
    picked = [tuple(row[column] for column in kept) for row in (table.heads, *table.rows)]
    return Figures(picked[0], tuple(picked[1:]))


def _unpriced(lines: Sequence[Line]) -> list[Part]:
    names = sorted({f"{line.spent.provider}:{line.spent.model}" for line in lines if line.cost is None})
    if not names:
        return []
    told = f"{UNKNOWN}: no price is known for {', '.join(names)}. The setting is providers.NAME.models.MODEL.price"
    return [BLANK, Sentence(told, Tone.QUIET)]
