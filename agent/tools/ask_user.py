"""`ask_user`: a question of the model's to the person, who answers on the screen or declines to.

The question is a request in the store like one for approval (agent/questions.py), and its answer allows nothing.
"""

from __future__ import annotations

from typing import cast

import msgspec
from msgspec import Struct

from agent.tools.arguments import known_only, required_text
from agent.tools.base import Arguments, BadArguments, CallContext, ToolResult, Touch, Workplace
from session.models import CallOutcome

MOST_CHOICES = 6
QUESTION_CHARS, CHOICE_CHARS = 4_000, 200

NAME = "ask_user"
DESCRIPTION = (
    "Ask the person something that only they can know or decide, and wait for the answer. Give choices where there are "
    f"a few likely answers (at most {MOST_CHOICES}); they may answer in their own words as well unless allow_text is "
    "false, or decline to answer. Not for leave to do something: tools that need it ask by themselves, and an answer "
    "here never counts as that. Not for what can be found out."
)
PARAMETERS: dict[str, object] = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "description": "One question, with what they need to know to answer it."},
        "choices": {
            "type": "array",
            "maxItems": MOST_CHOICES,
            "items": {"type": "string"},
            "description": "Likely answers, each a line.",
        },
        "allow_text": {
            "type": "boolean",
            "description": "Whether an answer in their own words is taken. Default true.",
        },
    },
    "required": ["question"],
    "additionalProperties": False,
}
_FIELDS = ("question", "choices", "allow_text")


class Question(Struct, frozen=True):
    """What is asked. There are choices, or a text is allowed, or both."""

    text: str
    choices: tuple[str, ...] = ()
    allows_text: bool = True


def question_of(args: Arguments) -> Question:
    """Raises BadArguments."""
    known_only(args, _FIELDS)
    text = required_text(args, "question").strip()
    if not 0 < len(text) <= QUESTION_CHARS:
        raise BadArguments(f'"question" takes 1 to {QUESTION_CHARS:,} characters.')
    choices, allows_text = _choices(args), args.get("allow_text")
    if allows_text is not None and not isinstance(allows_text, bool):
        raise BadArguments('"allow_text" takes true or false.')
    if not choices and allows_text is False:
        raise BadArguments('Without "choices" there is no answer but one in words: leave "allow_text" out.')
    return Question(text, choices, allows_text is not False)


def touches(args: Arguments, place: Workplace) -> Touch:
    question_of(args)
    return Touch()


def shown(args: Arguments) -> str:
    return text_of(question_of(args))


def text_of(question: Question) -> str:
    """The question with its choices, for wherever it is only read."""
    return "\n".join([question.text, *(f"- {choice}" for choice in question.choices)])


async def run(args: Arguments, ctx: CallContext) -> ToolResult:
    """Only where nobody puts the question: a call of this tool is answered by a person, or not at all."""
    return ToolResult(NOBODY, CallOutcome.NOT_RUN)


def encoded(question: Question) -> str:
    return msgspec.json.encode(question).decode()


def decoded(details: str, shown: str) -> Question:
    """The question as it stands in a request; what can't be read any more is asked as the text that it showed."""
    try:
        return msgspec.json.decode(details, type=Question)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return Question(shown)


# --- what the model is told

NOBODY = (
    "Not asked: nobody is there to answer in a run without a screen. Go on without the answer as well as you can, and say "
    "what you assumed; or end and say what you would have to know."
)
DECLINED = (
    "The person declined to answer this question. Do not ask it again: go on without the answer as well as you can, and "
    "say what you assumed."
)


def answered(text: str) -> str:
    return f"The person answered:\n{text}"


def _choices(args: Arguments) -> tuple[str, ...]:
    given = args.get("choices")
    if given is None:
        return ()
    if not isinstance(given, list) or len(given := cast("list[object]", given)) > MOST_CHOICES:
        raise BadArguments(f'"choices" takes a list of at most {MOST_CHOICES} texts.')
    choices = [" ".join(required_text({"choices": one}, "choices").split()) for one in given]
    if any(not 0 < len(choice) <= CHOICE_CHARS for choice in choices):
        raise BadArguments(f'Each of "choices" takes 1 to {CHOICE_CHARS} characters.')
    if len(set(choices)) < len(choices):
        raise BadArguments('Each of "choices" can stand there once.')
    return tuple(choices)
