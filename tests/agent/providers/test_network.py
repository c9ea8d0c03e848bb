"""The way to a server: a proxy and trusted certificates that a person named."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from agent.providers.base import ErrorKind
from agent.providers.chat import ChatProvider
from agent.providers.http import Network

DONE = b"data: [DONE]\n\n"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of 127.0.0.1 that nobody signed, and its key, in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificate of this test")
    file, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    subprocess.run(
        [openssl, "req", *kind, *subject, "-keyout", str(key), "-out", str(file)], check=True, capture_output=True
    )
    file.write_text(file.read_text() + key.read_text())
    return file


@pytest.fixture
async def tls_url(wire, certificate):
    """The wire behind TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    wire.stream(wire.chunk({"content": "ok"}, "stop"), DONE)
    server = await asyncio.start_server(wire.handle, "127.0.0.1", 0, ssl=context)
    yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    server.close()


@pytest.fixture
def ask_by(question, on_route, listen, opening):
    async def once(base_url: str, network: Network):
        async with opening(ChatProvider(base_url, network=network)) as provider:
            return await listen(provider, on_route(question(), base_url=base_url))

    return once


async def test_a_server_with_a_certificate_of_its_own_is_trusted_by_its_file(tls_url, certificate, ask_by):
    assert (await ask_by(tls_url, Network(ca_file=str(certificate)))).reply.content == "ok"


async def test_without_that_file_it_is_not_trusted(tls_url, ask_by):
    assert (await ask_by(tls_url, Network())).error.kind is ErrorKind.SSL_CERT_VERIFICATION


@pytest.mark.parametrize("text", [None, "no certificate"])
async def test_a_file_without_certificates_is_named(wire, tmp_path, ask_by, text):
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)
    error = (await ask_by(wire.base_url, Network(ca_file=str(file)))).error
    assert str(file) in error.sentence
    assert wire.requests == []


async def test_a_named_proxy_is_the_only_way(wire, ask_by):
    wire.stream(wire.chunk({"content": "ok"}, "stop"), DONE)
    proxy = Network(proxy=f"http://127.0.0.1:{wire.port}")
    assert (await ask_by("http://models.invalid/v1", proxy)).reply.content == "ok"
    assert wire.requests[0].path == "http://models.invalid/v1/chat/completions"
