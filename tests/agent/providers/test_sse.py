"""The rules of event streams, and that no way of cutting the bytes changes what is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.providers.body import ChatBody
from agent.providers.sse import EventReader
from agent.providers.stream_body import StreamBody


def read(*pieces: bytes) -> list[tuple[str, str]]:
    reader = EventReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    return [tuple(event) for event in [*events, *reader.end()]]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [("", "a")]),
        (b"data:a\n\n", [("", "a")]),
        (b"data:  a\n\n", [("", " a")]),
        (b"data\n\n", [("", "")]),
        (b"data: a\ndata: b\n\n", [("", "a\nb")]),
        (b"event: e\ndata: a\n\ndata: b\n\n", [("e", "a"), ("", "b")]),
        (b": comment\n\ndata: a\n: more\n\n", [("", "a")]),
        (b"id: 1\nretry: 5\nunknown: x\ndata: a\n\n", [("", "a")]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", [("", "a"), ("", "b"), ("", "c")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", "a")]),
        (b"data: \xef\xbb\xbfa\n\n", [("", "\ufeffa")]),
        (b"data: a\xff\n\n", [("", "a\N{REPLACEMENT CHARACTER}")]),
        ("data: a\u2028b\x0bc\x85d\n\n".encode(), [("", "a\u2028b\x0bc\x85d")]),
        (b"data: a", [("", "a")]),
        (b'error: {"message":"x"}\n\n', [("error", '{"message":"x"}')]),
        (b"", []),
        (b"\n\n\n", []),
    ],
)
def test_a_stream_is_read_by_the_rules_whole_and_byte_by_byte(stream, events):
    assert read(stream) == events
    assert read(*[stream[at : at + 1] for at in range(len(stream))]) == events


def cuts(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted(place % (len(data) + 1) for place in places)
    return [data[start:end] for start, end in zip([0, *ends], [*ends, len(data)], strict=True)]


DELTAS = st.one_of(
    st.builds(lambda text: {"content": text}, st.text()),
    st.builds(lambda text: {"reasoning": text}, st.text()),
    st.builds(lambda text: {"refusal": text}, st.text()),
    st.builds(
        lambda index, text: {"tool_calls": [{"index": index, "id": f"c{index}", "function": {"name": "read", "arguments": text}}]},
        st.integers(0, 2),
        st.text(),
    ),
    st.sampled_from([{}, None]),
)  # fmt: skip


@given(
    deltas=st.lists(DELTAS, max_size=8),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    is_ascii=st.booleans(),
    places=st.lists(st.integers(0, 10_000), max_size=12),
)
def test_any_cut_of_a_stream_gives_the_same_answer(deltas, line_end, is_ascii, places):
    lines = [": hello"]
    for delta in deltas:
        chunk = {"choices": [{"index": 0, "delta": delta}], "model": "m"}
        lines += [f"data: {json.dumps(chunk, ensure_ascii=is_ascii)}", ""]
    lines += ['data: {"choices":[{"delta":{},"finish_reason":"stop"}]}', "", "data: [DONE]", "", ""]
    stream = line_end.join(lines).encode("utf-8", "surrogatepass")

    def answered(pieces: list[bytes]):
        said = ChatBody({"read"})
        body = StreamBody(said)
        parts = [part for piece in pieces for part in body.feed(piece)]
        return [*parts, *body.end(), *said.answer.end()], said.answer.reply(()), said.fault

    assert answered(cuts(stream, places)) == answered([stream])
