"""The model servers we know by name: where they are, which key they take, what to ask them for first."""

from __future__ import annotations

import re

from msgspec import Struct

from session.models import ApiMode, Route


class KnownModel(Struct, frozen=True):
    """A model by its id. `window` is in tokens, None where we are not sure of it: unknown is shown, never guessed."""

    id: str
    window: int | None = None


class KnownProvider(Struct, frozen=True):
    """A model server. `models` begins with the default; a local server has none, it tells its own, and takes no key.

    One that everybody has at an address of their own has no base_url but an `example` of one, and `hosts`, in which each
    * is one label of a name.
    """

    name: str
    label: str
    base_url: str
    key_env: str = ""
    models: tuple[KnownModel, ...] = ()
    api_mode: ApiMode = ApiMode.CHAT
    example: str = ""
    hosts: tuple[str, ...] = ()

    def is_at(self, base_url: str) -> bool:
        """Whether an address is this server's own, so that its key may go there."""
        return base_url == self.base_url or any(_is_on(base_url, host) for host in self.hosts)


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
        (KnownModel("deepseek-flash", 1_000_000), KnownModel("deepseek-v4-pro", 1_000_000)),
    ),
    KnownProvider(
        "moonshot",
        "Moonshot (Kimi)",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        (KnownModel("kimi-k2.6", 262_144), KnownModel("kimi-k3", 1_048_576)),
    ),
    KnownProvider(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        (KnownModel("gemini-2.5-flash", 1_048_576), KnownModel("gemini-2.5-pro", 1_048_576)),
    ),
    KnownProvider("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", (KnownModel("grok-4.5", 500_000),)),
    KnownProvider(
        "meta",
        "Meta",
        "https://api.meta.ai/v1",
        "META_MODEL_API_KEY",  # Meta's own MODEL_API_KEY could be anybody's: what is found under it may not go to Meta
        (KnownModel("muse-spark-1.1", 1_048_576),),
    ),
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

# At an address that only the person knows.
OWN_ADDRESS = (
    KnownProvider(
        "azure",
        "Azure OpenAI",
        "",
        "AZURE_OPENAI_API_KEY",
        example="https://RESOURCE.openai.azure.com/openai/v1, or "
        "https://RESOURCE.openai.azure.com/openai/deployments/DEPLOYMENT?api-version=VERSION",
        hosts=("*.openai.azure.com", "*.services.ai.azure.com", "*.cognitiveservices.azure.com"),
    ),
    KnownProvider(
        "bedrock",
        "Amazon Bedrock",
        "",
        "AWS_BEARER_TOKEN_BEDROCK",
        example="https://bedrock-runtime.REGION.amazonaws.com/openai/v1",
        hosts=("bedrock-runtime.*.amazonaws.com", "bedrock-mantle.*.api.aws"),
    ),
    # It passes on to other servers, which may cost money, so it is never taken just because it runs.
    KnownProvider("litellm", "LiteLLM", "", example="http://127.0.0.1:4000/v1"),
)

KNOWN = {provider.name: provider for provider in (*HOSTED, *LOCAL, *OWN_ADDRESS)}
KEY_NAMES = frozenset(provider.key_env for provider in (*HOSTED, *OWN_ADDRESS) if provider.key_env)

DEMO = "demo"
DEMO_ROUTE = Route(provider=DEMO, model=DEMO, base_url="", api_mode=ApiMode.DEMO, window=32_000)


def _is_on(base_url: str, host: str) -> bool:
    """Whether an https address lies on a host by its pattern."""
    labels = "[a-z0-9-]+".join(re.escape(part) for part in host.split("*"))
    return re.match(rf"https://{labels}(?::443)?(?:[/?]|$)", base_url, re.IGNORECASE) is not None
