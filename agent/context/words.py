"""How amounts and the context figure are told, the same on the screen and without one."""

from __future__ import annotations

from agent.context.meter import ContextFigure, FigureSource

MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400


def tokens(count: int) -> str:
    """A count as people say it: 812, 41.2k, 1.5m."""
    for size, unit in ((1_000_000, "m"), (1_000, "k")):
        if count >= size * 0.99995:
            return f"{count / size:.1f}".removesuffix(".0") + unit
    return str(count)


def share(part: int, whole: int) -> str:
    """What part of a whole, as a percentage."""
    return percent(part / whole if whole > 0 else 0)


def percent(fraction: float) -> str:
    """Never 0% for something and never 100% for less than all."""
    rounded = round(fraction * 100)
    if rounded == 0 and fraction > 0:
        return "<1%"
    return ">99%" if rounded == 100 and fraction < 1 else f"{rounded}%"


def dollars(amount: float) -> str:
    """$0.0042, $1.27, $140."""
    if amount >= 100:
        return f"${amount:,.0f}"
    if amount >= 0.1 or amount == 0:
        return f"${amount:.2f}"
    return f"${amount:.4f}" if amount >= 0.0001 else "<$0.0001"


def ago(seconds: float) -> str:
    """How long since: 12 s ago, 3 min ago, 2 h ago, 5 days ago."""
    since_s = max(0, int(seconds))
    if since_s < MINUTE_S:
        return f"{since_s} s ago"
    if since_s < HOUR_S:
        return f"{since_s // MINUTE_S} min ago"
    if since_s < DAY_S:
        return f"{since_s // HOUR_S} h ago"
    days = since_s // DAY_S
    return f"{days} day{'' if days == 1 else 's'} ago"


def used_text(figure: ContextFigure) -> str:
    """The count alone; `~` marks an estimate."""
    return f"{'~' if figure.is_estimate and figure.used else ''}{tokens(figure.used)}"


def figure_sentence(figure: ContextFigure) -> str:
    """How full it is."""
    used = f"{used_text(figure)} tokens are in use"
    if not figure.window:
        return f"{used}. How many this model takes is not known."
    return f"{used} of the {tokens(figure.window)} that this model takes: {share(figure.used, figure.window)}."


def source_sentence(figure: ContextFigure, now: float) -> str:
    """What the figure rests on. `now` in seconds since the epoch."""
    when = f" {ago(now - figure.read_at)}" if figure.read_at is not None else ""
    match figure.source:
        case FigureSource.PROVIDER:
            return f"Counted by the server{when}."
        case FigureSource.PROVIDER_PLUS_ESTIMATE:
            more = (
                f"{tokens(figure.estimated)} of it, which came since, are" if figure.estimated else "what came since is"
            )
            return f"Counted by the server{when}; {more} estimated."
        case FigureSource.ESTIMATE:
            return "An estimate: no server has counted this conversation as it is now."
        case FigureSource.UNKNOWN:
            return "Nothing was said yet."


def threshold_sentence(figure: ContextFigure) -> str:
    """Where compaction acts, "" where it does not."""
    if figure.threshold is None or not figure.window:
        return ""
    at = f"{tokens(figure.threshold)} ({share(figure.threshold, figure.window)})"
    left = figure.threshold - figure.used
    return f"It is compacted at {at}, " + (f"which is {tokens(left)} away." if left > 0 else "before the next request.")


def cautions(figure: ContextFigure) -> list[str]:
    """What the marks `!` and `≠` of the figure mean, a sentence each, where it has them."""
    said: list[str] = []
    if figure.declared is not None and figure.window:
        said.append(
            f"! The settings declare {tokens(figure.declared)}, but the server took no more than {tokens(figure.window)}."
        )
    if figure.unread:
        said.append(
            f"≠ The server did not read about {tokens(figure.unread)} of what was sent. It may cut long requests: with"
            " Ollama, set a larger num_ctx."
        )
    return said


def compacted_sentence(before: int, after: int, rows: int) -> str:
    """What a compaction came to, and how it is undone."""
    what = "1 message" if rows == 1 else f"{rows:,} messages"
    return (
        f"Compacted from {tokens(before)} to about {tokens(after)} tokens; {what} became a summary. /compact undo brings"
        " them back until the next answer."
    )
