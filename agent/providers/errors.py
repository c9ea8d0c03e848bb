"""Every way a request can fail, as one ProviderError with one sentence for the person."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from typing import cast

from msgspec import Struct

from agent.providers.base import NOTHING, ErrorKind, ProviderError
from agent.providers.faults import Fault, fault_of_body, is_page, shown
from agent.providers.http import KEYLESS, BadCertificates, Endpoint
from agent.providers.kinds import CUT_PROMPT, RETRYABLE, kind_of, window_in
from agent.providers.quotas import at_time, reset_in
from agent.providers.retry_after import LONGEST_WAIT_S, retry_after_s, spoken
from agent.providers.watch import Overdue, Watch
from session.models import ApiMode, Partial, Route, Usage

# What happened, and what to do about it. {model} and {key}, which is what to do about it, are filled in; the server's own words stand between the two.
_SAID: dict[ErrorKind, tuple[str, str]] = {
    ErrorKind.AUTH: ("refused the API key", "{key}"),
    ErrorKind.BILLING: ("will not work for this key's account", "Check its credit and billing, or choose another model with /model."),
    ErrorKind.RATE_LIMIT: ("limits how much may be asked", "Wait a little, then ask again."),
    ErrorKind.UPSTREAM_RATE_LIMIT: ("was limited by the provider behind it", "Wait a little, or choose another model with /model."),
    ErrorKind.OVERLOADED: ("is overloaded", "Ask again in a moment."),
    ErrorKind.SERVER_ERROR: ("failed", "Ask again in a moment."),
    ErrorKind.TIMEOUT: ("took too long", "Ask again."),
    ErrorKind.CONTEXT_OVERFLOW: ("says the conversation is longer than the model's context", "Start a new one with /new, or choose a model with a larger window."),
    ErrorKind.PAYLOAD_TOO_LARGE: ("says: request too large", "Start a new conversation with /new, or send less at once."),
    ErrorKind.MODEL_NOT_FOUND: ("does not offer the model {model}", "Choose another with /model."),
    ErrorKind.CONTENT_POLICY_BLOCKED: ("blocked this by its content policy", "Ask in other words."),
    ErrorKind.FORMAT_ERROR: ("did not accept the request", "Asking again the same way will not help."),
    ErrorKind.UNKNOWN: ("answered with an error", "Ask again."),
}  # fmt: skip
_LIMITS = (ErrorKind.RATE_LIMIT, ErrorKind.UPSTREAM_RATE_LIMIT)


class Asked(Struct, frozen=True):
    """Who was asked for what, and how much of an answer there is: all that an error needs to be told."""

    endpoint: Endpoint
    route: Route
    watch: Watch
    partial: Partial = NOTHING
    usage: Usage | None = None

    def error(
        self,
        kind: ErrorKind,
        sentence: str,
        *,
        may_retry: bool = False,
        is_cut: bool = False,
        retry_after_s: float | None = None,
        window: int | None = None,
    ) -> ProviderError:
        return ProviderError(
            kind,
            sentence,
            may_retry=may_retry,
            retry_after_s=retry_after_s,
            is_cut=is_cut,
            partial=self.partial,
            usage=self.usage,
            window=window,
            contact=self.watch.contact,
        )

    def shown(self, message: str) -> str:
        """A server's words, without our secrets. That no key was sent is none."""
        return shown(message, {self.endpoint.api_key, *self.endpoint.headers.values()} - {KEYLESS})

    @property
    def other_key(self) -> str:
        """What a person does about a key that was refused."""
        provider, name = self.shown(self.route.provider), self.route.key_ref
        if not name:  # as for a server that is described without one
            return f"No key was sent: name one in config.yaml as providers.{provider}.key_env, then give it with /key."
        if name.endswith(".key_cmd"):
            return f"Check what {name} gives."
        sent = "No key was sent. " if self.endpoint.api_key == KEYLESS else ""
        return f"{sent}Give {provider} another one with /key {name} on the screen, or hermes secrets set {name} in a shell."


def from_failure(asked: Asked, failure: Exception) -> ProviderError:
    """The error for what the SDK or its HTTP layer raised."""
    import httpx2
    from openai import APIStatusError

    if isinstance(failure, APIStatusError):
        response = failure.response
        if 300 <= response.status_code < 400:
            return _redirected(asked, response.headers.get("location", ""))
        fault = fault_of_body(response.text, response.status_code)
        return from_fault(asked, fault, response.headers, is_page(response.text))
    if isinstance(failure, Overdue):
        return cut(asked, str(failure)) if asked.watch.is_open else _too_late(asked, failure)
    causes = list(_causes(failure))
    if tls := next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None):
        return _no_tls(asked, tls)
    if any(isinstance(cause, httpx2.UnsupportedProtocol | httpx2.InvalidURL) for cause in causes):
        return no_address(asked)
    if asked.watch.is_open:
        return cut(asked, _broken(asked, causes))
    return _unreachable(asked, causes)


def from_fault(
    asked: Asked, fault: Fault, headers: Mapping[str, str] | None = None, is_a_page: bool = False
) -> ProviderError:
    """The error for what a server reported, by HTTP status or inside its stream."""
    kind = kind_of(fault)
    is_limit = kind in _LIMITS or kind is ErrorKind.BILLING
    wait_s, resets_at = retry_after_s(headers or {}), (reset_in(headers or {}) or fault.resets_at) if is_limit else None
    if wait_s is None and resets_at is not None:
        wait_s = max(0.0, resets_at - time.time())
    if kind is ErrorKind.BILLING and fault.status == 429 and wait_s is not None:
        kind = ErrorKind.RATE_LIMIT  # Google words its limit per minute like an empty account, but says when it ends
    if kind is ErrorKind.MODEL_NOT_FOUND and (is_a_page or not fault.message):
        return bad_endpoint(asked, f"it has nothing there for chat ({fault.status})")
    what, advice = _SAID[kind]
    if wait_s is not None and (resets_at is not None or wait_s > LONGEST_WAIT_S):
        advice = _until(wait_s, resets_at)
    if CUT_PROMPT.search(fault.message):
        advice = "Give the model a larger context (in Ollama: num_ctx), or start a new conversation with /new."
    status = f" ({fault.status})" if fault.status else ""
    message = asked.shown(fault.message)
    said = f": {message.rstrip('.')}" if message else ""
    what = what.replace("{model}", asked.shown(asked.route.model))
    sentence = f"{asked.endpoint.host} {what}{status}{said}. {advice.replace('{key}', asked.other_key)}"
    is_final = fault.status in (400, 422) or bool(CUT_PROMPT.search(fault.message))  # the same body fails the same way
    may_retry = kind in RETRYABLE and not is_final and (wait_s is None or wait_s <= LONGEST_WAIT_S)
    window = window_in(fault) if kind is ErrorKind.CONTEXT_OVERFLOW else None
    return asked.error(kind, sentence, may_retry=may_retry, retry_after_s=wait_s, window=window)


def _until(wait_s: float, resets_at: float | None) -> str:
    """What to do about a limit that ends: when that is, where the server told it, else how long it asks to wait."""
    what = f"It asks to wait {spoken(wait_s)}, until {at_time(time.time() + wait_s).removeprefix('at ')}"
    if resets_at is not None:
        what = f"The limit resets {at_time(resets_at)}"
    if wait_s <= LONGEST_WAIT_S:
        return f"{what}: ask again then."
    return f"{what}: choose another model with /model, or come back later."


def cut(asked: Asked, why: str) -> ProviderError:
    """The stream ended before the answer did (A15)."""
    return asked.error(
        ErrorKind.TIMEOUT,
        f"The answer of {asked.endpoint.host} broke off: {why}. Ask again, or say: go on.",
        may_retry=True,
        is_cut=True,
    )


def empty(asked: Asked) -> ProviderError:
    """A stream without a single word: never a finished answer."""
    return asked.error(
        ErrorKind.EMPTY_ANSWER, f"{asked.endpoint.host} sent an empty answer. Ask again.", may_retry=True
    )


def behind(asked: Asked, fault: Fault) -> str:
    """The sentence for what a server reported behind an answer that it had finished."""
    return (
        f"{asked.endpoint.host} reported an error behind this answer: {asked.shown(fault.message) or 'it said no more'}"
    )


def bad_endpoint(asked: Asked, why: str) -> ProviderError:
    what = "Responses" if asked.route.api_mode is ApiMode.RESPONSES else "Chat Completions"
    return asked.error(
        ErrorKind.FORMAT_ERROR,
        f"{asked.endpoint.host} is not a {what} server: {why}. Check the provider's base_url in config.yaml"
        " (it usually ends in /v1).",
    )


def no_address(asked: Asked) -> ProviderError:
    return asked.error(
        ErrorKind.FORMAT_ERROR,
        f"The base_url of {asked.shown(asked.route.provider)} in config.yaml is no web address: it begins with http:// or"
        " https:// and a host.",
    )


def bad_proxy(asked: Asked, failure: Exception) -> ProviderError:
    if isinstance(failure, BadCertificates):
        return asked.error(ErrorKind.SSL_CERT_VERIFICATION, asked.shown(str(failure)))
    return asked.error(
        ErrorKind.TIMEOUT,
        f"The proxy that the environment or the config names for {asked.endpoint.host} cannot be used: {asked.shown(str(failure))}",
    )


def bad_key(asked: Asked) -> ProviderError:
    return asked.error(
        ErrorKind.AUTH,
        f"{asked.route.key_ref or 'The API key'} holds characters that no key has (a line break, an accent or a quote"
        " from a document?). Copy the key again.",
    )


def _redirected(asked: Asked, target: str) -> ProviderError:
    return bad_endpoint(asked, f"it sends requests on to {asked.shown(target) or 'another address'}")


def _no_tls(asked: Asked, failure: ssl.SSLError) -> ProviderError:
    host = asked.endpoint.host
    if isinstance(failure, ssl.SSLCertVerificationError):
        return asked.error(
            ErrorKind.SSL_CERT_VERIFICATION,
            f"The certificate of {host} cannot be trusted: {asked.shown(failure.verify_message)}. If the server is"
            " yours, add its certificate to the system's, or name it in SSL_CERT_FILE.",
        )
    return asked.error(
        ErrorKind.TIMEOUT,
        f"{host} does not speak TLS. Check whether base_url should begin with http:// instead of https://.",
    )


def _unreachable(asked: Asked, causes: list[BaseException]) -> ProviderError:
    # Nothing listens on this machine: that is known at once, and waiting changes it only if the person starts the server.
    is_off = asked.endpoint.is_loopback and any(isinstance(cause, ConnectionRefusedError) for cause in causes)
    return asked.error(
        ErrorKind.TIMEOUT,
        f"{asked.endpoint.host} cannot be reached: {_broken(asked, causes)}. Check that the server runs, the network"
        " is up, and base_url in config.yaml is right.",
        may_retry=not is_off,
    )


def _too_late(asked: Asked, limit: Overdue) -> ProviderError:
    return asked.error(
        ErrorKind.TIMEOUT,
        f"{asked.endpoint.host} took too long: {limit}. If it needs that long, raise the limit in config.yaml"
        " (timeouts.first_byte, timeouts.total).",
        may_retry=True,
    )


def _broken(asked: Asked, causes: list[BaseException]) -> str:
    """What broke, in plain words, from the first cause that says it."""
    import httpx2

    for cause in causes:
        match cause:
            case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
                return f"no connection within {asked.watch.timeouts.connect_s:g} s"
            case ConnectionRefusedError():
                return "the connection was refused"
            case socket.gaierror():
                return "no such host"
            case httpx2.ProxyError():
                return "the proxy refused"
            case ConnectionResetError() | httpx2.ReadError():
                return "the connection was reset"
            case httpx2.RemoteProtocolError():
                return "the connection was closed too early"
            case _:
                pass
    return "the connection failed"


def _causes(failure: BaseException | None) -> Iterator[BaseException]:
    """The failure and what it came from, outermost first, groups opened."""
    while failure is not None:
        yield failure
        if isinstance(failure, BaseExceptionGroup):
            for member in cast(BaseExceptionGroup[BaseException], failure).exceptions:
                yield from _causes(member)
        failure = failure.__cause__ or failure.__context__
