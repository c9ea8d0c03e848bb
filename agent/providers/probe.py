"""What a server can do, found out by asking it: a handful of small requests through the real provider classes.

Only a request that the server calls wrong in its form (400, 422) says something about the protocol. Every other failure
leaves a question open, and an answer in which the model merely did otherwise than told says nothing about the server.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from agent.providers.base import ErrorKind, ModelRequest, ProviderError, Reply
from agent.providers.compatibility import Compatibility, EmptyContent, MaxTokensField
from agent.providers.probe_requests import ONE_CALL, PLAIN, THOUGHT, TOOLS, TWO_CALLS, Wire, after_calls, asked
from session.models import ApiMode, Finish, Route, Usage

MOST_REQUESTS = 13
ANSWER_TOKENS = 1_000  # a model that thinks needs some before its first word
SHOWN_WORDS = 60  # characters of an answer

PLAIN_ANSWER = "a plain answer"
USAGE = "token counts in streams"
TOOL = "a tool call"
TWO = "two calls in one answer"
NULL = "an answer with content null sent back"
EMPTY = 'an answer with content "" sent back'
NO_CONTENT = "an answer without content sent back"
TWO_BACK = "two calls in one answer sent back"
ECHO = "thinking sent back"
RESPONSES = "the Responses API"
WINDOW = "the context window"
SUBJECTS = (PLAIN_ANSWER, USAGE, TOOL, TWO, NULL, EMPTY, NO_CONTENT, TWO_BACK, ECHO, RESPONSES, WINDOW)

# A request that fails so fails the same whatever is asked.
HOPELESS = frozenset(
    {
        ErrorKind.AUTH,
        ErrorKind.AUTH_PERMANENT,
        ErrorKind.BILLING,
        ErrorKind.MODEL_NOT_FOUND,
        ErrorKind.SSL_CERT_VERIFICATION,
        ErrorKind.PROVIDER_POLICY_BLOCKED,
    }
)


class Verdict(StrEnum):
    """What is known of one thing."""

    WORKS = "works"
    FAILS = "does not work"
    UNCLEAR = "unclear"
    UNASKED = "not asked"


class Finding(Struct, frozen=True):
    """One row of the table: `subject` in a person's words, and why it is so."""

    subject: str
    verdict: Verdict
    why: str


class Server(Struct, frozen=True):
    """The server under test. `ask` sends one request, on whichever protocol its route names; it raises ProviderError.

    `window` asks for the list of models: the window it states for this one, None where it states none.
    """

    route: Route
    compatibility: Compatibility
    extra_body: Mapping[str, object]
    ask: Callable[[ModelRequest], Awaitable[Reply]]
    window: Callable[[], Awaitable[int | None]]


class Probe:
    """One run. `switches` then holds those that must be set otherwise than they are."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._switches = server.compatibility
        self._usage: Usage | None = None
        self.requests = 0

    @property
    def switches(self) -> dict[str, str | bool]:
        before, found = self._server.compatibility, self._switches
        names = ("usage_option", "max_tokens_field", "empty_content", "echo_reasoning", "parallel_calls")
        return {name: getattr(found, name) for name in names if getattr(found, name) != getattr(before, name)}

    async def run(self) -> AsyncGenerator[Finding, None]:
        """Findings as they are made; after one that makes all others pointless they are told as not asked."""
        plain = await self._plain()
        yield plain
        if plain.verdict is not Verdict.WORKS:
            for subject in (USAGE, TOOL, TWO, NULL, EMPTY, TWO_BACK, ECHO, RESPONSES):
                yield Finding(subject, Verdict.UNASKED, "the server did not answer the first request")
        else:
            yield self._counted()
            yield await self._one_call()
            yield await self._two_calls()
            async for finding in self._sent_back():
                yield finding
            yield await self._responses()
        yield await self._window()

    # --- what is asked

    async def _plain(self) -> Finding:
        """The first request, in other forms where the server refuses the one we know."""
        first = await self._ask(asked(PLAIN))
        answer = first
        for form in self._other_forms():
            if not _is_refused(answer):
                break
            answer = await self._ask(asked(PLAIN), switches=form)
            if isinstance(answer, Reply):
                self._switches = form
        if isinstance(answer, ProviderError):
            if isinstance(first, ProviderError) and _is_refused(answer):
                answer = first  # wrong in every form: the one we believed in tells most
            return _failed(PLAIN_ANSWER, answer)
        self._usage = answer.usage
        return Finding(PLAIN_ANSWER, Verdict.WORKS, _said(answer))

    def _other_forms(self) -> list[Compatibility]:
        now = self._switches
        if self._server.route.api_mode is not ApiMode.CHAT:
            return []
        others = set(MaxTokensField) - {now.max_tokens_field}
        uncounted = replace(now, usage_option=not now.usage_option)
        return [uncounted, *(replace(form, max_tokens_field=name) for name in others for form in (now, uncounted))]

    def _counted(self) -> Finding:
        if self._usage is None:
            return Finding(USAGE, Verdict.FAILS, "it does not tell how many tokens an answer took; they are estimated")
        return Finding(USAGE, Verdict.WORKS, f"{self._usage.prompt} tokens in, {self._usage.output} out")

    async def _one_call(self) -> Finding:
        answer = await self._ask(asked(ONE_CALL), is_with_tools=True)
        if isinstance(answer, ProviderError):
            return _failed(TOOL, answer)
        if answer.calls:
            return Finding(TOOL, Verdict.WORKS, f"it called {answer.calls[0].name}")
        return Finding(TOOL, Verdict.UNCLEAR, f"offered a tool, the model did not call it: {_said(answer)}")

    async def _two_calls(self) -> Finding:
        answer = await self._ask(asked(TWO_CALLS), is_with_tools=True)
        if isinstance(answer, ProviderError):
            return _failed(TWO, answer)
        if len(answer.calls) > 1:
            return Finding(TWO, Verdict.WORKS, f"{len(answer.calls)} calls came in one answer")
        made = "one call" if answer.calls else "none"
        return Finding(TWO, Verdict.UNCLEAR, f"asked for two calls in one answer, the model made {made}")

    async def _sent_back(self) -> AsyncGenerator[Finding, None]:
        """Which forms of an earlier answer the server takes back."""
        if self._server.route.api_mode is not ApiMode.CHAT:
            for subject in (NULL, EMPTY, TWO_BACK, ECHO):
                yield Finding(subject, Verdict.UNASKED, "a matter of Chat Completions, which this route does not speak")
            return
        null, empty = [await self._call_back(form) for form in (EmptyContent.NULL, EmptyContent.EMPTY)]
        self._settle_content(null, empty)
        thought = await self._call_back(self._switches.empty_content, is_thinking=True)
        self._settle_echo(null, empty, thought)
        yield _taken(NULL, null)
        yield _taken(EMPTY, empty)
        if _is_refused(null) and _is_refused(empty) and not isinstance(thought, Reply):
            yield await self._no_content()
        yield await self._two_back()
        yield self._echoed(null, empty, thought)

    async def _no_content(self) -> Finding:
        answer = await self._call_back(EmptyContent.OMIT)
        if isinstance(answer, Reply):
            self._switches = replace(self._switches, empty_content=EmptyContent.OMIT)
        return _taken(NO_CONTENT, answer)

    async def _two_back(self) -> Finding:
        switches = self._switches
        answer = await self._call_back(switches.empty_content, "one", "two", is_thinking=switches.echo_reasoning)
        if _is_refused(answer):
            self._switches = replace(self._switches, parallel_calls=False)
        return _taken(TWO_BACK, answer)

    async def _responses(self) -> Finding:
        if self._server.route.api_mode is ApiMode.RESPONSES:
            return Finding(RESPONSES, Verdict.WORKS, "it answered the first request so")
        answer = await self._ask(asked(PLAIN), mode=ApiMode.RESPONSES)
        if isinstance(answer, Reply):
            return Finding(RESPONSES, Verdict.WORKS, _said(answer))
        # Asked for a model it just answered with, a server that does not know it does not know the path.
        is_missing = _is_refused(answer) or answer.kind is ErrorKind.MODEL_NOT_FOUND
        return Finding(RESPONSES, Verdict.FAILS if is_missing else Verdict.UNCLEAR, answer.sentence)

    async def _window(self) -> Finding:
        window = await self._server.window()
        if window is None:
            return Finding(
                WINDOW, Verdict.UNCLEAR, "its list of models does not say; set context_length where you know it"
            )
        return Finding(WINDOW, Verdict.WORKS, f"{window:,} tokens")

    # --- what follows from it

    def _settle_content(self, null: Reply | ProviderError, empty: Reply | ProviderError) -> None:
        match null, empty, self._switches.empty_content:
            case ProviderError(), Reply(), EmptyContent.NULL if _is_refused(null):
                self._switches = replace(self._switches, empty_content=EmptyContent.EMPTY)
            case Reply(), ProviderError(), EmptyContent.EMPTY if _is_refused(empty):
                self._switches = replace(self._switches, empty_content=EmptyContent.NULL)
            case _:
                pass

    def _settle_echo(
        self, null: Reply | ProviderError, empty: Reply | ProviderError, thought: Reply | ProviderError
    ) -> None:
        if _is_refused(null) and _is_refused(empty) and isinstance(thought, Reply):
            self._switches = replace(self._switches, echo_reasoning=True)
        elif _is_refused(thought) and (isinstance(null, Reply) or isinstance(empty, Reply)):
            self._switches = replace(self._switches, echo_reasoning=False)

    def _echoed(
        self, null: Reply | ProviderError, empty: Reply | ProviderError, thought: Reply | ProviderError
    ) -> Finding:
        if isinstance(thought, ProviderError):
            return _failed(ECHO, thought)
        is_needed = _is_refused(null) and _is_refused(empty)
        return Finding(
            ECHO, Verdict.WORKS, "it must be sent back" if is_needed else "it may be sent back; it need not be"
        )

    # --- asking

    async def _call_back(self, form: EmptyContent, *words: str, is_thinking: bool = False) -> Reply | ProviderError:
        """A conversation in which the model called for these words, with the content of its answer in that form."""
        messages = after_calls(words or ("ready",), {"reasoning_content": THOUGHT} if is_thinking else {})
        return await self._ask(messages, is_with_tools=True, switches=replace(self._switches, empty_content=form))

    async def _ask(
        self,
        messages: list[Wire],
        *,
        is_with_tools: bool = False,
        switches: Compatibility | None = None,
        mode: ApiMode | None = None,
    ) -> Reply | ProviderError:
        switches = switches or self._switches
        route = replace(self._server.route, api_mode=mode or self._server.route.api_mode)
        limit = switches.max_tokens_field if route.api_mode is ApiMode.CHAT else "max_output_tokens"
        extra = {str(limit): ANSWER_TOKENS, **(self._server.extra_body if mode is None else {})}
        self.requests += 1
        try:
            return await self._server.ask(
                ModelRequest(route, messages, TOOLS if is_with_tools else [], extra, switches, is_exact=True)
            )
        except ProviderError as error:
            return error


def _is_refused(answer: Reply | ProviderError) -> bool:
    """The server says that the request is wrong in its form."""
    return isinstance(answer, ProviderError) and answer.kind is ErrorKind.FORMAT_ERROR


def _failed(subject: str, error: ProviderError) -> Finding:
    is_answer = _is_refused(error) or error.kind in HOPELESS
    return Finding(subject, Verdict.FAILS if is_answer else Verdict.UNCLEAR, error.sentence)


def _taken(subject: str, answer: Reply | ProviderError) -> Finding:
    if isinstance(answer, ProviderError):
        return _failed(subject, answer)
    return Finding(subject, Verdict.WORKS, "the server takes it")


def _said(answer: Reply) -> str:
    text = " ".join((answer.content or answer.refusal).split())
    if not text:
        is_short = answer.finish is Finish.LENGTH
        return "it thought until its answer was cut at our limit" if is_short else "it answered without words"
    return f'it said "{text if len(text) <= SHOWN_WORDS else text[: SHOWN_WORDS - 1] + "…"}"'
