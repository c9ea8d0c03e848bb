"""Which kind of failure a server's fault is."""

from __future__ import annotations

import re

from agent.providers.base import ErrorKind
from agent.providers.faults import Fault

_OVERFLOW = re.compile(
    r"maximum (context|prompt|input) length"
    r"|exceeds? (the |this )?(model'?s? |available |maximum )*context (size|length|window|limit)"
    r"|(prompt|input|request) is too (long|large) (for|to fit)|prompt is too long"
    r"|not fit in(to)? (the )?(model'?s? )?context"
    r"|context (length|window|size|limit) (was |is |has been )?exceed"
    r"|context length only supports"
    r"|exceeded (the )?model (token|context) limit"
    r"|input token count .{0,40}exceeds the maximum"
    r"|(longer|larger|greater) than (the )?(model'?s? )?(maximum )?context (length|window|size)"
    r"|reduce the length of the (messages|prompt|input)",
    re.IGNORECASE,
)
_NUMBER = r"(\d{1,3}(?:[,_ ]\d{3})+|\d{3,9})\b"
_WINDOWS = tuple(
    re.compile(words.replace("N", _NUMBER), re.IGNORECASE)
    for words in (
        r"maximum (?:context|prompt|input) length (?:is|of) N",
        r"available context size \(N",
        r"context length only supports N",
        r"> N maximum",
        r"maximum number of tokens allowed \(N",
        r"context (?:length|window|size|limit) (?:is|of|:|=)? ?N",
        r"token limit:? ?(?:is|of)? ?N",
        r"with N maximum context length",
    )
)
SMALLEST_WINDOW, LARGEST_WINDOW = 256, 100_000_000
CUT_PROMPT = re.compile("no user query found", re.I)  # Ollama and llama.cpp, when the prompt itself was cut away (A39)
_OVERFLOW_CODES = ("context_length_exceeded", "exceed_context_size_error", "context_window_exceeded")
_BILLING = re.compile(
    r"billing|insufficient (balance|credits?|funds|quota)|quota exceeded|exceeded your .{0,20}quota", re.I
)
_NO_MODEL = re.compile(
    r"\bmodel\b.{0,80}(not found|does not exist|not exist|is not available)|unknown model", re.I | re.S
)

_BY_STATUS = {
    401: ErrorKind.AUTH,
    402: ErrorKind.BILLING,
    403: ErrorKind.AUTH,
    404: ErrorKind.MODEL_NOT_FOUND,
    408: ErrorKind.TIMEOUT,
    409: ErrorKind.UNKNOWN,  # what the request needs is held by another one
    413: ErrorKind.PAYLOAD_TOO_LARGE,
    425: ErrorKind.UNKNOWN,  # too early, for a server that will not have been asked twice
    429: ErrorKind.RATE_LIMIT,
    503: ErrorKind.OVERLOADED,
    529: ErrorKind.OVERLOADED,
}
_BY_CODE = {
    "invalid_api_key": ErrorKind.AUTH,
    "authentication": ErrorKind.AUTH,
    "insufficient_quota": ErrorKind.BILLING,
    "model_not_found": ErrorKind.MODEL_NOT_FOUND,
    "rate_limit": ErrorKind.RATE_LIMIT,
    "overloaded": ErrorKind.OVERLOADED,
    "content_filter": ErrorKind.CONTENT_POLICY_BLOCKED,
    "content_policy": ErrorKind.CONTENT_POLICY_BLOCKED,
    "invalid_request": ErrorKind.FORMAT_ERROR,
    "invalid_prompt": ErrorKind.FORMAT_ERROR,
    "invalid_image": ErrorKind.FORMAT_ERROR,
    "server_error": ErrorKind.SERVER_ERROR,
    "internal": ErrorKind.SERVER_ERROR,
    "timeout": ErrorKind.TIMEOUT,
}
RETRYABLE = frozenset(
    {
        ErrorKind.RATE_LIMIT,
        ErrorKind.UPSTREAM_RATE_LIMIT,
        ErrorKind.OVERLOADED,
        ErrorKind.SERVER_ERROR,
        ErrorKind.TIMEOUT,
        ErrorKind.UNKNOWN,
    }
)


def kind_of(fault: Fault) -> ErrorKind:
    """Why it failed, from what the server said. An overflow is never read out of a failing server's words (A38)."""
    if fault.status in (None, 400, 413, 422) and _is_overflow(fault):
        return ErrorKind.CONTEXT_OVERFLOW
    if CUT_PROMPT.search(fault.message):
        return ErrorKind.CONTEXT_OVERFLOW
    if fault.status == 429 or fault.status is None:
        if "insufficient_quota" in fault.code or _BILLING.search(fault.message):
            return ErrorKind.BILLING
        if "upstream" in fault.message.lower() and fault.status:
            return ErrorKind.UPSTREAM_RATE_LIMIT
    if fault.status in (None, 400) and _NO_MODEL.search(fault.message):
        return ErrorKind.MODEL_NOT_FOUND
    if fault.status in _BY_STATUS:
        return _BY_STATUS[fault.status]
    named = next((kind for code, kind in _BY_CODE.items() if code in fault.code), None)
    if fault.status is None:
        return named or ErrorKind.UNKNOWN
    if fault.status >= 500:
        return ErrorKind.SERVER_ERROR
    return named or ErrorKind.FORMAT_ERROR


def window_in(fault: Fault) -> int | None:
    """The model's context in tokens, where the words of an overflow tell it (A22, A37)."""
    found = next((match for words in _WINDOWS if (match := words.search(fault.message))), None)
    tokens = int(re.sub(r"[,_ ]", "", found[1])) if found else 0
    return tokens if SMALLEST_WINDOW <= tokens <= LARGEST_WINDOW else None


def _is_overflow(fault: Fault) -> bool:
    return any(code in fault.code for code in _OVERFLOW_CODES) or bool(_OVERFLOW.search(fault.message))
