"""What is noted of a session while it is played: figures beside the truth, compactions, refusals."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Point:
    """One figure at one moment. `tail` is the share of the truth that no server had counted by then.

    `leg` counts what took the conversation elsewhere (rewinds, switches, compactions…), `turn` its turns. `readings` are
    those that the model's weights were learned from.
    """

    session: int
    kind: str
    model: str
    moment: str
    used: int
    source: str
    is_anchored: bool
    truth: int
    tail: float
    readings: int
    leg: int
    turn: int
    has_new_image: bool  # the first ones for this model: nothing is known of their price

    @property
    def error(self) -> float:
        return (self.used - self.truth) / self.truth

    def __str__(self) -> str:
        return (
            f"session {self.session:3} ({self.kind}) turn {self.turn:2} {self.model:16} {self.moment:10} {self.source:17}"
            f" {self.used:6} for {self.truth:6} {self.error:+7.1%} tail {self.tail:4.0%} readings {self.readings}"
            f"{' first images' if self.has_new_image else ''}"
        )


@dataclass(frozen=True)
class Compaction:
    """`truth` is what the server would have counted when it began, `pressure` what it was taken for."""

    session: int
    kind: str
    model: str
    why: str
    truth: int
    pressure: int
    threshold: int | None
    window: int | None
    is_anchored: bool
    rows: int = 0
    error: str = ""

    @property
    def is_automatic(self) -> bool:
        return self.why == "full"

    @property
    def is_needless(self) -> bool:
        return self.is_automatic and (self.threshold is None or self.truth < self.threshold)

    def __str__(self) -> str:
        over = f" {self.truth / self.threshold:.1%} of it" if self.threshold else ""
        return (
            f"session {self.session:3} ({self.kind}) {self.model:16} {self.why}: taken for {self.pressure}, truth {self.truth},"
            f" threshold {self.threshold}{over}, anchored {self.is_anchored}, {self.rows} rows left {self.error}"
        )


@dataclass(frozen=True)
class Refusal:
    """A request that its server refused for its size. `window` is what was known of it, None for nothing.

    `was_made_to_fit`: the next request of the conversation was accepted.
    """

    session: int
    kind: str
    model: str
    counted: int
    window: int | None
    served: int
    is_main: bool
    was_made_to_fit: bool = False

    @property
    def is_missed(self) -> bool:
        """What a correct gate would have prevented: one that knows the window. A summary fits in any case."""
        return not self.is_main or (self.window is not None and self.window <= self.served)

    def __str__(self) -> str:
        what = "a request" if self.is_main else "a summary"
        fit = "fitted after" if self.was_made_to_fit else "never fitted"
        return f"session {self.session:3} ({self.kind}) {self.model:16} {what} of {self.counted} over {self.served}, known {self.window}: {fit}"


@dataclass
class Played:
    """All that was seen of one session."""

    number: int
    kind: str
    display: list[Point] = field(default_factory=list[Point])
    gates: list[Point] = field(default_factory=list[Point])
    compactions: list[Compaction] = field(default_factory=list[Compaction])
    refusals: list[Refusal] = field(default_factory=list[Refusal])
    errors: list[str] = field(default_factory=list[str])  # with which turns ended
    differing: list[str] = field(default_factory=list[str])  # requests that were counted otherwise than was foreseen
    requests: int = 0
