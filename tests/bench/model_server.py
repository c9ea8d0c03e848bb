"""A Chat Completions server on loopback whose answers are chosen by the prompt.

    python model_server.py PORT LOG

The last of these words in the last user message decides; each answer ends in a paragraph `End<NONCE>mark`:
    bench:short:<nonce>
    bench:stream:<chunks>:<characters a chunk>:<delay in ms>:<nonce>      markdown
    bench:yes:<seconds>:<nonce>      calls `yes` until its timeout first
LOG gets one JSON line a request, with times of the monotonic clock, which the harness on the same machine shares.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

PROMPT = re.compile(r"bench:(?:short|yes:\d+|stream:(\d+):(\d+):(\d+)):(\w+)")
YES = re.compile(r"bench:yes:(\d+):")

SECTION = """## Section {n}: layout and timing

The quick summary has **bold text**, *italic text* and `inline code` in a paragraph
that is long enough to wrap at the usual terminal width of one hundred and twenty columns.

- first item with a [link](http://127.0.0.1/{n})
- second item with `code` and some more words
  - nested item number {n}
- third item

1. step one of the plan
2. step two of the plan

| name | value | note |
| --- | ---: | --- |
| alpha {n} | {n}0 | a short note |
| beta {n} | {n}1 | another note |

```python
def section_{n}(items):
    total = 0
    for item in items:
        total += item * {n}  # accumulate
    return total
```

> a quoted remark about section {n}, kept short

"""


def markdown(size: int) -> str:
    """Markdown of a number of characters, with every code fence closed."""
    text = "".join(SECTION.format(n=n) for n in range(1, size // 600 + 2))[:size]
    return text + ("\n```" if text.count("```") % 2 else "")


def marker(nonce: str) -> str:
    return f"End{nonce.upper()}mark"


def last_prompt(body: dict[str, Any]) -> str:
    said = [message["content"] for message in body["messages"] if message["role"] == "user"]
    return said[-1] if said and isinstance(said[-1], str) else ""


def answer_to(prompt: str) -> tuple[list[str], float]:
    """The pieces of an answer and the seconds between them."""
    found = list(PROMPT.finditer(prompt))
    if not found:
        return ["There is no bench word in this prompt."], 0
    chunks, size, delay_ms, nonce = found[-1].groups()
    if chunks is None:
        return ["Fine, here is a reply.", "\n\n", marker(nonce)], 0
    text, step = markdown(int(chunks) * int(size)), int(size)
    return [*(text[at : at + step] for at in range(0, len(text), step)), f"\n\n{marker(nonce)}"], int(delay_ms) / 1000


def event(choices: list[dict[str, Any]], **more: Any) -> bytes:
    body = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "bench-model"}
    data = f"data: {json.dumps({**body, 'choices': choices, **more})}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


def delta(said: dict[str, Any], finish: str | None = None) -> bytes:
    return event([{"index": 0, "delta": said, "finish_reason": finish}])


def call_for(body: dict[str, Any]) -> dict[str, Any] | None:
    """The call of a command that is not yet answered."""
    found = YES.findall(last_prompt(body))
    if not found or body["messages"][-1]["role"] != "user":
        return None
    function = {"name": "terminal", "arguments": json.dumps({"command": "yes", "timeout": int(found[-1])})}
    return {"index": 0, "id": "call_1", "type": "function", "function": function}


async def stream(body: dict[str, Any], request_bytes: int) -> AsyncIterator[bytes]:
    if call := call_for(body):
        yield delta({"role": "assistant", "tool_calls": [call]})
        yield delta({}, "tool_calls")
        yield b"e\r\ndata: [DONE]\n\n\r\n"
        return
    pieces, delay_s = answer_to(last_prompt(body))
    yield delta({"role": "assistant", "content": ""})
    began = time.monotonic()
    for number, piece in enumerate(pieces, 1):
        yield delta({"content": piece})
        wait_s = began + number * delay_s - time.monotonic()
        if delay_s and wait_s > 0:
            await asyncio.sleep(wait_s)
    yield delta({}, "stop")
    asked, said = request_bytes // 4, sum(map(len, pieces)) // 4
    counted = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
    yield event([], usage=counted)
    yield b"e\r\ndata: [DONE]\n\n\r\n"


async def read_request(reader: asyncio.StreamReader) -> tuple[str, bytes, float] | None:
    """Method and path, body, and when the first byte came."""
    line = await reader.readline()
    arrived = time.monotonic()
    size = 0
    while (header := await reader.readline()).strip():
        name, _, value = header.decode("latin-1").partition(":")
        if name.lower() == "content-length":
            size = int(value)
    return (line.decode().rpartition(" ")[0], await reader.readexactly(size), arrived) if line else None


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, log: Callable[..., None]) -> None:
    try:
        while request := await read_request(reader):
            place, body, arrived = request
            if not place.endswith("/chat/completions"):
                models = json.dumps({"object": "list", "data": [{"id": "bench-model", "object": "model"}]}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
                writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(models), models))
                await writer.drain()
                continue
            asked = json.loads(body)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            first = time.monotonic()
            async for piece in stream(asked, len(body)):
                writer.write(piece)
                await writer.drain()
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            log(prompt=last_prompt(asked), arrived=arrived, first=first, last=time.monotonic())
    except (ConnectionError, asyncio.IncompleteReadError):
        pass  # the client left
    finally:
        writer.close()


async def main(port: int, log_path: Path) -> None:
    with log_path.open("a", buffering=1) as lines:

        def log(**times: Any) -> None:
            lines.write(json.dumps(times) + "\n")

        server = await asyncio.start_server(lambda reader, writer: serve(reader, writer, log), "127.0.0.1", port)
        async with server:
            await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2])))
