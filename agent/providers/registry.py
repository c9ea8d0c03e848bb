"""The model servers we know by name: where they are, which key they take, what to ask them for first."""

from __future__ import annotations

from msgspec import Struct

from session.models import ApiMode, Route


class KnownModel(Struct, frozen=True):
    """A model by its id. `window` is in tokens, None where we are not sure of it: unknown is shown, never guessed."""

    id: str
    window: int | None = None


class KnownProvider(Struct, frozen=True):
    """A model server. `models` begins with the default; a local server has none, it tells its own, and takes no key."""

    name: str
    label: str
    base_url: str
    key_env: str = ""
    models: tuple[KnownModel, ...] = ()
    api_mode: ApiMode = ApiMode.CHAT


# In the order in which a key found in the environment is preferred.
HOSTED = (
    KnownProvider(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        (KnownModel("gpt-4.1", 1_047_576), KnownModel("gpt-4.1-mini", 1_047_576), KnownModel("gpt-4o", 128_000)),
    ),
    KnownProvider(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        (KnownModel("openrouter/auto"),),
    ),
    KnownProvider(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        (KnownModel("claude-sonnet-4-5", 200_000), KnownModel("claude-haiku-4-5", 200_000)),
    ),
    KnownProvider(
        "nous",
        "Nous Portal",
        "https://inference-api.nousresearch.com/v1",
        "NOUS_API_KEY",
        (KnownModel("Hermes-4-405B"), KnownModel("Hermes-4-70B")),
    ),
    KnownProvider(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        (KnownModel("openai/gpt-oss-120b", 131_072), KnownModel("llama-3.3-70b-versatile", 131_072)),
    ),
    KnownProvider(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        (KnownModel("mistral-medium-latest"), KnownModel("mistral-large-latest")),
    ),
    KnownProvider(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        (KnownModel("deepseek-chat"),),
    ),
    KnownProvider(
        "moonshot",
        "Moonshot (Kimi)",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        (KnownModel("kimi-k2-0905-preview", 262_144), KnownModel("kimi-latest")),
    ),
    KnownProvider(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        (KnownModel("gemini-2.5-flash", 1_048_576), KnownModel("gemini-2.5-pro", 1_048_576)),
    ),
    KnownProvider("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", (KnownModel("grok-4", 256_000),)),
    KnownProvider(
        "zai",
        "Z.ai (GLM)",
        "https://api.z.ai/api/paas/v4",
        "ZAI_API_KEY",
        (KnownModel("glm-4.6"), KnownModel("glm-4.5", 131_072)),
    ),
)

# In the order in which a running one is preferred.
LOCAL = (
    KnownProvider("ollama", "Ollama", "http://127.0.0.1:11434/v1"),
    KnownProvider("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"),
    KnownProvider("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    KnownProvider("vllm", "vLLM", "http://127.0.0.1:8000/v1"),
)

KNOWN = {provider.name: provider for provider in (*HOSTED, *LOCAL)}
KEY_NAMES = frozenset(provider.key_env for provider in HOSTED)

DEMO = "demo"
DEMO_ROUTE = Route(provider=DEMO, model=DEMO, base_url="", api_mode=ApiMode.DEMO, window=32_000)
