"""What a person sets about the screen."""

# The annotations are evaluated with the rest of the module, as those of agent/config/settings.py.
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct


class SendKey(StrEnum):
    """What sends a draft."""

    ENTER = "enter"
    CTRL_S = "ctrl+s"


class Grouping(StrEnum):
    """What the sessions of the sidebar stand together by."""

    DAY = "day"
    PROJECT = "project"


class ReasoningShown(StrEnum):
    """How much of what a model thought is shown before a person unfolds it."""

    FOLDED = "folded"
    OPEN = "open"
    HIDDEN = "hidden"


class Notify(StrEnum):
    """How somebody who looks elsewhere is told of what happened."""

    AUTO = "auto"
    OSC9 = "osc9"
    OSC777 = "osc777"
    BELL = "bell"
    OFF = "off"


class Progress(StrEnum):
    """Whether the terminal shows that a turn runs."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class DisplaySettings(Struct, frozen=True):
    """What the screen looks like. Changes in the file hold at once."""

    theme: Annotated[
        str,
        Meta(
            description="The colours: auto (as the terminal is), dark, light, high-contrast, ansi (the terminal's own 16),"
            " or the name of a file in the folder themes.",
            extra={"takes": "name"},
        ),
    ] = "auto"
    reduced_motion: Annotated[
        bool, Meta(description="Whether an answer comes in steps of half a second instead of flowing.")
    ] = False
    personality: Annotated[
        str,
        Meta(
            description="How the model speaks in new sessions: a name that /personality lists.", extra={"takes": "name"}
        ),
    ] = ""
    sidebar: Annotated[
        Grouping,
        Meta(description="What the sessions of the sidebar stand together by.", extra={"choices": tuple(Grouping)}),
    ] = Grouping.DAY
    send_key: Annotated[
        SendKey,
        Meta(
            description="The key that sends a draft. With ctrl+s, enter begins a new line: for input methods that confirm"
            " by enter.",
            extra={"choices": tuple(SendKey)},
        ),
    ] = SendKey.ENTER
    reasoning: Annotated[
        ReasoningShown,
        Meta(
            description="How much of a model's thinking is shown: two lines of it, all, or only that there is some.",
            extra={"choices": tuple(ReasoningShown)},
        ),
    ] = ReasoningShown.FOLDED
    paste_fold_lines: Annotated[
        int,
        Meta(
            ge=0, le=1_000_000, description="A pasted text of so many lines is shown as one short label; 0 for never."
        ),
    ] = 5
    paste_fold_chars: Annotated[
        int,
        Meta(
            ge=0, le=1_000_000_000, description="The same, by its length in characters; 0 for no matter how long it is."
        ),
    ] = 2_000
    notify: Annotated[
        Notify,
        Meta(
            description="How you are told that a turn ended, failed or asks while you look elsewhere: auto is what the"
            " terminal is known to show, osc9 and osc777 are its notifications, bell is its bell.",
            extra={"choices": tuple(Notify)},
        ),
    ] = Notify.AUTO
    title: Annotated[bool, Meta(description="Whether the window is named after the session and how it stands.")] = True
    progress: Annotated[
        Progress,
        Meta(
            description="Whether the terminal's own bar of progress moves while a turn runs: auto is where it has one.",
            extra={"choices": tuple(Progress)},
        ),
    ] = Progress.AUTO
