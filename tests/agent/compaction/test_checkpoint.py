"""Where a copy of what a compaction takes out is asked for, it is made first, or nothing is taken out."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.context import checkpoint
from agent.context.checkpoint import may_compact_on_server
from session.db import SessionDB
from session.import_jsonl import import_jsonl
from session.models import ApiMode, Role

REQUIRED = "compression: {checkpoint_required: true}"


@pytest.fixture
def more_config() -> str:
    return REQUIRED


def files(home: Path) -> list[Path]:
    return sorted((home / "outputs").rglob("*.jsonl"))


async def test_what_leaves_a_conversation_is_kept_in_a_private_file_that_can_be_imported(
    talk, reopen, compact, strict, home, tmp_path
):
    bench = await reopen(talk.turns(12, 300), strict.url)
    before = list(bench.rows)
    assert (await compact(bench)).error == ""
    (path,) = files(home)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    gone = [row.content for row in before if row.id not in {kept.id for kept in bench.rows}]
    db = SessionDB.open(tmp_path / "other.db")
    try:
        import_jsonl(db, path)
        (line,) = db.read(lambda tables: tables.sessions.listing(10)).result()
        assert [row.content for row in db.read(lambda t: t.messages.all(line.id)).result()] == gone
    finally:
        db.close()


async def test_without_a_copy_nothing_is_taken_out_and_the_reason_is_told(talk, reopen, compact, strict, home):
    bench = await reopen(talk.turns(12, 300), strict.url)
    before = list(bench.rows)
    (home / "outputs" / "long").write_text("in the way")
    ended = await compact(bench)
    assert "compression.checkpoint_required" in ended.error and ended.rows == 0
    assert [row for row in bench.rows if row.role is not Role.NOTICE] == before
    assert strict.requests == [], "no model was asked in vain"


async def test_a_copy_that_reads_otherwise_is_no_copy(talk, reopen, compact, strict, monkeypatch):
    bench = await reopen(talk.turns(12, 300), strict.url)
    before = list(bench.rows)
    lines = checkpoint._lines
    monkeypatch.setattr(checkpoint, "_lines", lambda header, rows: [*lines(header, rows)][:-1])
    ended = await compact(bench)
    assert "could not be read back" in ended.error
    assert [row for row in bench.rows if row.role is not Role.NOTICE] == before


async def test_no_server_compacts_where_a_copy_is_asked_for_and_that_is_said_once(talk, reopen, strict, caplog):
    bench = await reopen(talk, strict.url)
    s = bench.hub.runtime("long").s
    route = replace(s.route, api_mode=ApiMode.RESPONSES)
    checkpoint._say_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert not may_compact_on_server(s.parts.settings, route)
        assert not may_compact_on_server(s.parts.settings, route)
    assert caplog.text.count("checkpoint_required") == 1
    without = replace(s.parts.settings, compression=replace(s.parts.settings.compression, checkpoint_required=False))
    assert may_compact_on_server(without, route)
    assert not may_compact_on_server(without, s.route), "only the Responses protocol knows it"
