"""What a person sets in config.yaml: the one table of settings.

A field's type, range, default and description are the setting: the list of keys, what `hermes config` shows and takes,
docs/settings.md and the sentences about wrong values all come from here (agent/config/table.py reads it). A field
without a description is no setting, but a note that reading leaves.
"""

# The annotations are evaluated with the rest of the module: as texts, reading the remembered settings would compile each
# of them, a millisecond of every start.
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct, field

from agent.config.alias_settings import AliasSettings
from agent.config.approval_settings import ApprovalSettings, ProjectSettings
from agent.config.compression_settings import CompressionSettings
from agent.config.display_settings import DisplaySettings
from agent.config.personality_settings import PersonalitySettings
from agent.config.problem import Problem
from agent.config.terminal_settings import TerminalSettings
from agent.config.web_settings import WebSettings
from agent.providers.compatibility import CallIds, EmptyContent, KeyHeader, MaxTokensField
from session.models import ApiMode

SETTING_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
ENVIRONMENT_PREFIX = "HERMES_"


class ModelSettings(Struct, frozen=True):
    """Which model answers. Both are empty where the choice is left to hermes; `flaw` says what was wrong in it."""

    default: Annotated[
        str, Meta(description="The model of a new session: an id, or provider:id.", extra={"takes": "name"})
    ] = ""
    provider: Annotated[
        str, Meta(description="Where that model is: a name under providers, or a known one.", extra={"takes": "name"})
    ] = ""
    flaw: str = ""


class CompatibilitySettings(Struct, frozen=True):
    """What a server wants otherwise than the protocol says. What is not given is as we know the server, or the protocol's.

    The names are those of `Compatibility`. `hermes provider check` finds most of them out.
    """

    echo_reasoning: Annotated[
        bool | None, Meta(description="Whether thinking is sent back with the answer it belongs to.")
    ] = None
    empty_content: Annotated[
        EmptyContent | None,
        Meta(
            description="How the content of an answer that only calls tools is sent back.",
            extra={"choices": tuple(EmptyContent)},
        ),
    ] = None
    usage_option: Annotated[
        bool | None, Meta(description="Whether token counts are asked for with stream_options.")
    ] = None
    parallel_calls: Annotated[
        bool | None, Meta(description="Whether the model may call several tools in one answer.")
    ] = None
    think_tags: Annotated[
        bool | None, Meta(description="Whether <think> at the very beginning of an answer is thinking.")
    ] = None
    max_tokens_field: Annotated[
        MaxTokensField | None,
        Meta(
            description="Under which name the longest answer is asked for.",
            extra={"choices": tuple(MaxTokensField)},
        ),
    ] = None
    key_header: Annotated[
        KeyHeader | None,
        Meta(description="The header in which the key is sent.", extra={"choices": tuple(KeyHeader)}),
    ] = None
    call_ids: Annotated[
        CallIds | None,
        Meta(
            description="Which ids the calls of another server's model get here: any as they are, short ones of at most 40"
            " letters, digits, _ and -, or nine letters and digits.",
            extra={"choices": tuple(CallIds)},
        ),
    ] = None
    server_compaction: Annotated[
        bool | None,
        Meta(description="Whether the server of a Responses route may be asked to shorten the conversation itself."),
    ] = None
    images: Annotated[bool | None, Meta(description="Whether it takes images in a prompt. Unset: they are sent.")] = (
        None
    )


class Effort(StrEnum):
    """How much a model is to think, in the words of the protocol."""

    NONE = "none"
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"


Dollars = Annotated[float, Meta(ge=0, le=100_000)]


class PriceSettings(Struct, frozen=True):
    """What a model costs, in dollars per million tokens. Without input and output no price is known."""

    input: Annotated[Dollars | None, Meta(description="Dollars per million tokens that it reads.")] = None
    output: Annotated[Dollars | None, Meta(description="Dollars per million tokens that it writes.")] = None
    cache_read: Annotated[
        Dollars | None, Meta(description="The same for those read from a cache. Without it, as input.")
    ] = None
    cache_write: Annotated[
        Dollars | None, Meta(description="The same for those put into a cache. Without it, as input.")
    ] = None


class ModelEntry(Struct, frozen=True):
    """What is said about one model of a provider."""

    context_length: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000_000)] | None, Meta(description="Its context window in tokens.")
    ] = None
    request_overrides: Annotated[
        Mapping[str, object], Meta(description="Fields put over those of each request to this model.")
    ] = field(default_factory=dict[str, object])
    reasoning_effort: Annotated[
        Effort | None, Meta(description="How much it is to think.", extra={"choices": tuple(Effort)})
    ] = None
    max_tokens: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000_000)] | None,
        Meta(description="The longest answer in tokens, thinking included."),
    ] = None
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=2)] | None, Meta(description="How freely it chooses its words.")
    ] = None
    compatibility: Annotated[
        CompatibilitySettings, Meta(description="What this model wants otherwise than its server.")
    ] = CompatibilitySettings()
    price: Annotated[PriceSettings, Meta(description="What it costs.")] = PriceSettings()


Seconds = Annotated[float, Meta(ge=0, le=86_400)]


class TimeoutSettings(Struct, frozen=True):
    """How long one attempt at a request may take, in seconds; 0 is as long as it takes."""

    connect_s: Annotated[
        Seconds, Meta(description="Seconds until a connection stands. In each of these, 0 is as long as it takes.")
    ] = field(default=30.0, name="connect")
    first_byte_s: Annotated[
        Seconds, Meta(description="Seconds from asking until anything of an answer comes, and be it a keep-alive.")
    ] = field(default=300.0, name="first_byte")
    idle_s: Annotated[Seconds, Meta(description="Seconds of silence in an answer. A keep-alive is no silence.")] = (
        field(default=180.0, name="idle")
    )
    total_s: Annotated[
        Seconds, Meta(description="Seconds for a whole answer, and for a server that only sends keep-alives.")
    ] = field(default=3_600.0, name="total")


class ProviderTimeoutSettings(Struct, frozen=True):
    """What holds for one provider in the place of `TimeoutSettings`. The names are the same."""

    connect_s: Annotated[Seconds | None, Meta(description="Its own timeouts.connect.")] = field(
        default=None, name="connect"
    )
    first_byte_s: Annotated[Seconds | None, Meta(description="Its own timeouts.first_byte.")] = field(
        default=None, name="first_byte"
    )
    idle_s: Annotated[Seconds | None, Meta(description="Its own timeouts.idle.")] = field(default=None, name="idle")
    total_s: Annotated[Seconds | None, Meta(description="Its own timeouts.total.")] = field(default=None, name="total")


class ProviderSettings(Struct, frozen=True):
    """A model server. What is empty comes from the table of known providers, where it has this name.

    `flaw` says what is wrong with where it is or which key it gets. Such a provider is refused as a whole: filling the
    gap from the table could send a key to another server than was meant.
    """

    base_url: Annotated[str, Meta(description="The address of the server.", extra={"takes": "url"})] = ""
    key_env: Annotated[
        str, Meta(description="The variable in .env or the environment that holds its key.", extra={"takes": "key_env"})
    ] = ""
    key_cmd: Annotated[
        str | tuple[str, ...], Meta(description="A command that prints its key, as one text or a list of words.")
    ] = ""
    key_cmd_ttl_s: Annotated[
        int, Meta(ge=0, le=86_400, description="Seconds for which a key from key_cmd is kept.")
    ] = field(default=300, name="key_cmd_ttl")
    api_mode: Annotated[
        ApiMode,
        Meta(
            description="How the server is spoken to.",
            extra={"choices": (ApiMode.CHAT, ApiMode.RESPONSES)},
        ),
    ] = ApiMode.CHAT
    context_length: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000_000)] | None,
        Meta(description="The context window in tokens of those of its models that name none."),
    ] = None
    compatibility: Annotated[
        CompatibilitySettings, Meta(description="What it wants otherwise than the protocol says.")
    ] = CompatibilitySettings()
    timeouts: Annotated[ProviderTimeoutSettings, Meta(description="How long a request to it may take.")] = (
        ProviderTimeoutSettings()
    )
    extra_headers: Annotated[
        Mapping[str, str], Meta(description="Headers added to each request. Keys do not belong here.")
    ] = field(default_factory=dict[str, str])
    extra_body: Annotated[Mapping[str, object], Meta(description="Fields added to each request.")] = field(
        default_factory=dict[str, object]
    )
    proxy: Annotated[
        str,
        Meta(
            description="The proxy on the way to it, in the place of the one that the environment names.",
            extra={"takes": "proxy"},
        ),
    ] = ""
    ca_file: Annotated[
        str, Meta(description="A file of certificates to trust in the place of the system's.", extra={"takes": "name"})
    ] = ""
    models: Annotated[Mapping[str, ModelEntry], Meta(description="Its models.", extra={"takes": "name"})] = field(
        default_factory=dict[str, ModelEntry]
    )
    flaw: str = ""


class AuxiliarySettings(Struct, frozen=True):
    """The model for small tasks beside the conversation. Both are empty where it is the one that answers."""

    provider: Annotated[
        str, Meta(description="Where the model for titles and summaries is.", extra={"takes": "name"})
    ] = ""
    model: Annotated[
        str, Meta(description="The model for titles and summaries: an id, or provider:id.", extra={"takes": "name"})
    ] = ""
    titles: Annotated[
        bool, Meta(description="Whether it is asked, once a session, for a title better than the first words of it.")
    ] = True


class AgentSettings(Struct, frozen=True):
    """How a turn runs."""

    max_turns: Annotated[int, Meta(ge=1, le=10_000, description="Requests to the model in one turn.")] = 90
    max_tokens: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000_000)] | None,
        Meta(description="No answer is longer, in tokens, whatever its model's own max_tokens allows."),
    ] = None
    api_max_retries: Annotated[
        int, Meta(ge=0, le=10, description="How often a request is sent again that failed before an answer began.")
    ] = 3
    stream_retries: Annotated[
        int, Meta(ge=0, le=10, description="How often an answer that broke off is asked for again.")
    ] = 2
    stream_drain_timeout_s: Annotated[
        float,
        Meta(
            ge=0,
            le=60,
            description="Seconds to wait for token counts behind a finished answer; 0 does not wait.",
        ),
    ] = field(default=2.0, name="stream_drain_timeout")
    sdk_transform: Annotated[
        bool, Meta(description="Whether the SDK checks each message before it is sent: the same bytes, more slowly.")
    ] = False
    system_prompt: Annotated[str, Meta(description="Text in the place of the built-in system prompt.")] = ""


class Settings(Struct, frozen=True):
    """All settings. `file` names config.yaml as the person knows it; `unread` says why none of it could be read.

    `model_source` names what chose the model: a file, the environment or the command line.
    """

    model: Annotated[ModelSettings, Meta(description="Which model answers.")] = ModelSettings()
    providers: Annotated[
        Mapping[str, ProviderSettings], Meta(description="Model servers.", extra={"takes": "provider"})
    ] = field(default_factory=dict[str, ProviderSettings])
    model_aliases: Annotated[
        Mapping[str, AliasSettings],
        Meta(
            description="Names of your own for models, as /model takes them.",
            extra={"takes": "provider", "is_personal": True, "short_for": "model"},
        ),
    ] = field(default_factory=dict[str, AliasSettings])
    fallback: Annotated[
        tuple[str, ...],
        Meta(
            description="Models that answer, in this order, while the chosen one can't.",
            extra={"takes": "model"},
        ),
    ] = ()
    timeouts: Annotated[TimeoutSettings, Meta(description="How long a request may take.")] = TimeoutSettings()
    auxiliary: Annotated[AuxiliarySettings, Meta(description="The model for small tasks.")] = AuxiliarySettings()
    approvals: Annotated[ApprovalSettings, Meta(description="Questions before something runs.")] = ApprovalSettings()
    agent: Annotated[AgentSettings, Meta(description="How a turn runs.")] = AgentSettings()
    compression: Annotated[CompressionSettings, Meta(description="When a conversation is made smaller.")] = (
        CompressionSettings()
    )
    terminal: Annotated[TerminalSettings, Meta(description="How commands run.")] = TerminalSettings()
    web: Annotated[WebSettings, Meta(description="What tools may fetch from the web.")] = WebSettings()
    display: Annotated[DisplaySettings, Meta(description="What the screen looks like.")] = DisplaySettings()
    personalities: Annotated[
        Mapping[str, PersonalitySettings],
        Meta(
            description="Ways of speaking of your own, as /personality takes them. Files in the folder personalities do"
            " the same.",
            extra={"takes": "name", "is_personal": True, "short_for": "text"},
        ),
    ] = field(default_factory=dict[str, PersonalitySettings])
    keys: Annotated[
        Mapping[str, tuple[str, ...]],
        Meta(
            description="Other keys for what a key does, in the place of those it has: `main.search: ctrl+g, f3`.",
            extra={"names": "binding", "takes": "key", "is_personal": True},
        ),
    ] = field(default_factory=dict[str, tuple[str, ...]])
    projects: Annotated[
        Mapping[str, ProjectSettings],
        Meta(
            description="What holds in one folder only, by its full path.",
            extra={"takes": "folder", "is_personal": True},
        ),
    ] = field(default_factory=dict[str, ProjectSettings])
    probe_local: Annotated[bool, Meta(description="Whether model servers on this machine are looked for.")] = True
    file: str = "config.yaml"
    unread: str = ""
    model_source: str = "config.yaml"


class Loaded(Struct, frozen=True):
    """Settings that hold, what was wrong in the files, and where each value that was given came from.

    `origins` names the layer of a full key (`agent.max_turns`): user, project, environment or flags. What is not in it
    is a default.
    """

    settings: Settings
    problems: tuple[Problem, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict[str, str])


class Sources(Struct, frozen=True):
    """Everything that settings are read from. The first of each pair of a file is how a person knows it.

    `text` is None where there is no user file; `unreadable` says why there is one whose text can't be had.
    """

    file: str
    text: str | None = None
    unreadable: str = ""
    project: tuple[str, str] | None = None
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    flags: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.unreadable or self.project or self.environ or self.flags)


def is_setting_name(key: str) -> bool:
    """Whether a key has the form of a variable: such a one always belongs to .env, never to config.yaml."""
    return SETTING_NAME.fullmatch(key) is not None
