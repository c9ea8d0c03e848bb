"""The small language of the built-in demo: what a line asks for."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from agent.providers.demo_results import code, conclude, text_of
from agent.providers.demo_text import CONNECT, HELP, LONG
from agent.providers.wire_json import Object


class Step(Struct, frozen=True):
    """A tool the demo wants to use: its name, its arguments, and what it is about in a few words."""

    tool: str
    arguments: Mapping[str, str]
    about: str

    @property
    def raw_arguments(self) -> str:
        return json.dumps(self.arguments, ensure_ascii=False)


class Say(Struct, frozen=True):
    """The demo thinks, then says something."""

    thought: str
    text: str


class Use(Struct, frozen=True):
    """The demo thinks, says something and uses tools."""

    thought: str
    text: str
    steps: tuple[Step, ...]


class Fail(Struct, frozen=True):
    """The demo thinks, then fails."""

    thought: str


Answer = Say | Use | Fail


class Phrase(Struct, frozen=True):
    """One thing the demo understands: how it is written, what it does, and the tool step that it stands for."""

    usage: str
    meaning: str
    pattern: re.Pattern[str]
    step: Callable[[re.Match[str]], Step]


def answer_to(messages: Sequence[Object], home: str) -> Answer:
    """What the demo does next in a conversation of chat-shaped messages."""
    if messages and messages[-1].get("role") == "tool":
        return Say("The results are in. I will say what I see.", conclude(messages))
    asked = next((text_of(message) for message in reversed(messages) if message.get("role") == "user"), "")
    understood = _understand(asked)
    if understood is None and "\n\n" in asked:
        # A prompt that was interrupted comes again in front of the next one.
        understood = _understand(asked.rpartition("\n\n")[2])
    return understood or Say("This is not a line I know, so I will explain what I am.", CONNECT.format(home=home))


def _understand(asked: str) -> Answer | None:
    line = asked.strip()
    word = line.lower().rstrip(".!?")
    if word in ("help", "/help") or line == "?":
        return Say("I was asked what I understand.", HELP.format(commands=_commands()))
    if word in ("long", "a long answer", "write a long answer"):
        return Say("I was asked for a long answer. I have one ready, with a bit of everything in it.", LONG)
    if word == "fail":
        return Fail("I was asked to fail, so I will report an error, as a server might.")
    steps = _two_steps(line) or _one_step(line)
    return _use(steps) if steps else None


def _one_step(line: str) -> tuple[Step, ...]:
    for phrase in PHRASES:
        match = phrase.pattern.fullmatch(line)
        if match:
            return (phrase.step(match),)
    return ()


def _two_steps(line: str) -> tuple[Step, ...]:
    if line.lower().rstrip(".!?") == "ask two things in parallel":
        return (*_one_step("list"), *_one_step("run date"))
    if not line.lower().startswith("both "):
        return ()
    rest = line[len("both ") :]
    # "and" may be part of a command, so each of them is tried as the one in the middle.
    for middle in re.finditer(r" and ", rest, re.IGNORECASE):
        first, second = _one_step(rest[: middle.start()].strip()), _one_step(rest[middle.end() :].strip())
        if first and second:
            return (*first, *second)
    return ()


def _use(steps: Sequence[Step]) -> Use:
    wishes = " and ".join(step.about for step in steps)
    if len(steps) == 1:
        return Use(f"I was asked to {wishes}. There is a tool for that.", f"I would like to {wishes}.", tuple(steps))
    thought = f"I was asked to {wishes}. Neither needs the other, so I can ask for both at once."
    return Use(thought, f"I would like to do two things: {wishes}.", tuple(steps))


def _terminal(command: str, about: str) -> Step:
    return Step("terminal", {"command": command}, about)


def _list(match: re.Match[str]) -> Step:
    folder = _bare(match["folder"] or "")
    if not folder:
        return _terminal("ls -la", "list the files here")
    return _terminal(f"ls -la -- {shlex.quote(folder)}", f"list the files in {code(folder)}")


def _read(match: re.Match[str]) -> Step:
    path = _bare(match["path"])
    return Step("read_file", {"path": path}, f"read {code(path)}")


def _search(match: re.Match[str]) -> Step:
    wanted = _bare(match["wanted"])
    return _terminal(
        f"grep -rnI --exclude-dir=.git -- {shlex.quote(wanted)} .", f"search the files here for {code(wanted)}"
    )


def _run(match: re.Match[str]) -> Step:
    command = match["command"].strip()
    return _terminal(command, f"run {code(command)}")


def _write(match: re.Match[str]) -> Step:
    path, text = _bare(match["path"]), match["text"].removeprefix(" ")
    content = text if text.endswith("\n") else f"{text}\n"
    return Step("write_file", {"path": path, "content": content}, f"write {code(path)}, replacing what is in it")


def _bare(name: str) -> str:
    """A name without the quotes that a person may put around it."""
    quoted = re.fullmatch(r"(['\"`])(.+)\1", name.strip())
    return quoted[2] if quoted else name.strip()


def _phrase(usage: str, meaning: str, pattern: str, step: Callable[[re.Match[str]], Step]) -> Phrase:
    return Phrase(usage, meaning, re.compile(pattern, re.IGNORECASE), step)


# One word or a quoted name: "read me a story" is not about a file called "me a story".
_NAME = r"\"[^\"]+\"|'[^']+'|`[^`]+`|\S+"

PHRASES = (
    _phrase(
        "list",
        "list the files here, or `list files in FOLDER`",
        rf"(?:list|ls)(?: (?:the )?files)?(?: in (?P<folder>{_NAME}))?",
        _list,
    ),
    _phrase("read FILE", "read a file", rf"read (?P<path>{_NAME})", _read),
    _phrase("search WORD", "search the files here for a word", r"search (?:for )?(?P<wanted>[^\n]+)", _search),
    _phrase("run COMMAND", "run a command in a shell", r"run (?P<command>[^\n]+)", _run),
    _phrase(
        "write FILE: TEXT",
        "write a text to a file (`edit` does the same; the whole file is replaced)",
        r"(?:write|edit) (?P<path>\"[^\"]+\"|'[^']+'|`[^`]+`|[^\s:]+):(?P<text>[\s\S]+)",
        _write,
    ),
)

OTHERS = (
    ("both A and B", "ask for two of these at once, for example `both list and run date`"),
    ("long", "a long answer with everything that markdown has"),
    ("fail", "see what a failing provider looks like"),
    ("help", "this list"),
)


def _commands() -> str:
    known = [(phrase.usage, phrase.meaning) for phrase in PHRASES]
    return "\n".join(f"- `{usage}`: {meaning}" for usage, meaning in (*known, *OTHERS))
