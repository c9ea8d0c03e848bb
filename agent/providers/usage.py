"""Token counts of either API, brought to our own buckets."""

from __future__ import annotations

from agent.providers.wire_json import NO_FIELDS, Object, as_count, as_object
from session.models import Usage


def usage_in(chunk: Object, choice: Object = NO_FIELDS) -> Usage | None:
    """The reading in a chunk, or None. Groq keeps it in `x_groq`, Moonshot in the choice; {} and zeros are none (A40)."""
    for holder in (chunk, as_object(chunk.get("x_groq")), choice):
        counts = holder.get("usage")
        if counts and (usage := _usage(as_object(counts))) is not None:
            return usage
    return None


def _usage(counts: Object) -> Usage | None:
    """Chat Completions counts `prompt` and `completion` tokens, Responses `input` and `output`."""
    prompt, output = (
        _first(counts, "prompt_tokens", "input_tokens"),
        _first(counts, "completion_tokens", "output_tokens"),
    )
    if not prompt and not output:
        return None
    details = as_object(counts.get("prompt_tokens_details") or counts.get("input_tokens_details"))
    read = _first(details, "cached_tokens") or _first(counts, "prompt_cache_hit_tokens", "cache_read_input_tokens")
    written = _first(details, "cache_write_tokens") or _first(counts, "cache_creation_input_tokens")
    spent = as_object(counts.get("completion_tokens_details") or counts.get("output_tokens_details"))
    reasoning = _first(spent, "reasoning_tokens")
    return Usage(max(0, prompt - read - written), output, read, written, reasoning)


def _first(counts: Object, *names: str) -> int:
    return next((count for name in names if (count := as_count(counts.get(name)))), 0)
