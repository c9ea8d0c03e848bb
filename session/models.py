"""The records of a conversation: frozen, without behaviour beyond what their own fields say."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from msgspec import Struct


class Role(StrEnum):
    """Who a row speaks for. A `NOTICE` is for the person only and never reaches a model."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    NOTICE = "notice"


class Finish(StrEnum):
    """How an answer ended. The last three are our own words for an answer that did not end by itself."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    CUT = "cut"  # the stream broke off before the model was done
    ERROR = "error"  # the server reported an error after the answer had begun
    INTERRUPTED = "interrupted"  # the person, or the end of the process, stopped it


class CallOutcome(StrEnum):
    """What became of a tool call."""

    OK = "ok"
    ERROR = "error"
    NOT_RUN = "not_run"
    INTERRUPTED = "interrupted"


class Approval(StrEnum):
    """What was decided about a tool call. Only `DENIED` is ever the person's own no, and only where no other cause is told.

    The last two are what comes of a question that a call puts to the person: neither allows anything.
    """

    NOT_ASKED = "not_asked"
    ALLOWED_ONCE = "allowed_once"
    ALLOWED_SESSION = "allowed_session"
    ALLOWED_ALWAYS = "allowed_always"
    DENIED = "denied"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    ANSWERED = "answered"
    DECLINED = "declined"

    @property
    def may_run(self) -> bool:
        return self in (
            Approval.NOT_ASKED,
            Approval.ALLOWED_ONCE,
            Approval.ALLOWED_SESSION,
            Approval.ALLOWED_ALWAYS,
        )


class ExitReason(StrEnum):
    """How a turn ended."""

    COMPLETED = "completed"
    CUT = "cut"
    REFUSED = "refused"
    LENGTH = "length"
    INTERRUPTED = "interrupted"
    BUDGET = "budget"
    ERROR = "error"


class EndReason(StrEnum):
    """Why a session was closed for good. Automatic clean-up never ends a session."""

    NEW = "new"
    ARCHIVED = "archived"
    DELETED = "deleted"


class TitleSource(IntEnum):
    """Where a title comes from. A person's own always lands, any other only on none or on one from a lower source."""

    DERIVED = 0
    MODEL = 1
    PERSON = 2


class Kind(StrEnum):
    """How a session came from its parent. A rewind stays within its session, so no session comes from one."""

    ROOT = ""
    BRANCH = "branch"
    COMPACTION = "compaction"  # a continuation: the same conversation under a new id (imported ones only)


class Level(StrEnum):
    """How much a notice matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class ApiMode(StrEnum):
    """Which protocol a route speaks."""

    CHAT = "chat_completions"
    RESPONSES = "responses"
    DEMO = "demo"  # the built-in demo: no server, no network


class Route(Struct, frozen=True):
    """Which model answers, and where: one value, changed only as a whole. Holds no credential.

    `key_ref` names the secret (an environment or .env name, "" for none); `window` is in tokens, None when unknown.
    """

    provider: str
    model: str
    base_url: str
    api_mode: ApiMode
    key_ref: str = ""
    window: int | None = None


class Usage(Struct, frozen=True):
    """Tokens of one or more requests, as the provider counted them. `input` excludes what came from or went to a cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0

    @property
    def prompt(self) -> int:
        return self.input + self.cache_read + self.cache_write

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.reasoning + other.reasoning,
        )


class ToolCall(Struct, frozen=True):
    """A call as the model wrote it. `arguments` is the raw text, JSON or not; `id` is unique in its session.

    `is_masked`: names stand in it in the place of secrets, so that it is not what was to run, and never runs.
    """

    id: str
    name: str
    arguments: str
    is_masked: bool = False


class CallResult(Struct, frozen=True):
    """What a tool row says of the call it answers. `cause` tells why an approval was cancelled or a call not run,
    or which rule it ran by."""

    call_id: str
    tool: str
    outcome: CallOutcome
    approval: Approval
    exit_code: int | None = None
    cause: str = ""
    duration_s: float = 0.0  # running time, without the time a person was asked


OWN_COMMAND = "command"  # the name of the call in which a person runs a command themselves


class Message(Struct, frozen=True):
    """One row of a transcript. Fields that do not belong to its role are empty. `id` is 0 until it is stored.

    `sent` is the exact text that a model got in place of `content`, "" where it was the same. `parts` and `extras` are
    JSON as a provider speaks it, kept as they came: content that is more than text, and what must be given back.
    A row that is not active is no part of the conversation any more: compacted into a summary, or rewound.
    `is_mended`: halves of surrogate pairs in it could not be stored and became U+FFFD.
    `is_damaged`: the row could not be read, and stands as a notice in its place.
    """

    session_id: str
    role: Role
    content: str
    created_at: float  # seconds since the epoch
    id: int = 0
    reasoning: str = ""
    refusal: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: Finish | None = None
    usage: Usage | None = None
    result: CallResult | None = None
    level: Level = Level.INFO
    sent: str = ""
    parts: str = ""
    extras: str = ""
    is_active: bool = True
    is_compacted: bool = False
    is_summary: bool = False
    is_mended: bool = False
    is_damaged: bool = False

    @property
    def is_prompt(self) -> bool:
        """Whether the person said this to the model: not a summary, nor a command of theirs, which is their row's one call."""
        return self.role is Role.USER and not (self.is_summary or self.calls)


class Session(Struct, frozen=True):
    """One conversation. `workspace` is the git root of `cwd` at creation, else `cwd`; only a relink changes them.

    `branched_at` is the last message of the parent that a branch took over. `last_read_at` is when a person last looked
    at its end. `revision` counts what took rows out of it: whoever holds rows of an older one must read them anew.
    `anchors` is what the context figure rests on and `compaction` what is known of earlier ones, JSON texts or "".
    `mode` is how much it asks, "" where that was never changed; a word of the runtime's, opaque here.
    """

    id: str
    source: str  # tui, chat, import; "unknown" until the first real writer says better
    title: str
    title_source: TitleSource
    cwd: str
    workspace: str
    created_at: float
    last_activity_at: float
    route: Route | None = None
    personality: str = ""
    ended_at: float | None = None
    end_reason: EndReason | None = None
    parent_id: str = ""
    kind: Kind = Kind.ROOT
    branched_at: int = 0
    profile: str = ""
    is_pinned: bool = False
    is_archived: bool = False
    last_read_at: float = 0.0
    prompt_hash: str = ""
    rewinds: int = 0
    revision: int = 0
    anchors: str = ""
    compaction: str = ""
    mode: str = ""


class ApprovalRequest(Struct, frozen=True):
    """A question to the person about one tool call: state in the store, whoever shows it.

    `shown` is the exact text that would act (the command, or path and content), unescaped, but for secrets in it, which
    are shown by their names; `why` says why it is asked. `details` is JSON of those who ask, "" for none: opaque here.
    """

    id: str
    session_id: str
    call_id: str
    tool: str
    shown: str
    why: str
    opened_at: float
    details: str = ""


class Partial(Struct, frozen=True):
    """What an unfinished answer has said so far."""

    content: str = ""
    reasoning: str = ""
    refusal: str = ""

    def __bool__(self) -> bool:
        return bool(self.content or self.reasoning or self.refusal)
