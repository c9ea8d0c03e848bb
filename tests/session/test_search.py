"""Whatever a person types is found where it was said, as it was said, and nothing that can be typed is an error."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session import search, search_candidates
from session.connection import Connection
from session.db import SessionDB
from session.models import EndReason, Message, Role, ToolCall
from session.search import Found
from session.search_index import SearchIndex
from session.search_query import CUT, NOTHING_ASKED
from session.tables import Tables

Find = Callable[..., Found]
Tell = Callable[..., int]

ROUNDS = 60 * int(os.environ.get("HERMES_SOAK") or 1)


@pytest.fixture
def tell(db: SessionDB, session_id: str) -> Tell:
    """Store a row of the session, or of another one; its id. Keywords replace fields."""

    def store(content: str, session_id: str = session_id, **fields: object) -> int:
        values: dict[str, object] = {"role": Role.USER, "created_at": 1.0}
        row = Message(session_id, content=content, **(values | fields))  # type: ignore[arg-type]
        return db.write(lambda t: t.messages.append(row)).result().id

    return store


@pytest.fixture(params=["indexed", "not indexed yet"])
def find(request: pytest.FixtureRequest, db: SessionDB) -> Find:
    def indexed(query: str, **filters: object) -> Found:
        db.aside(catch_up).result()
        return db.read(lambda t: t.search.find(query, **filters)).result()  # type: ignore[arg-type]

    def not_indexed(query: str, **filters: object) -> Found:
        def within(tables: Tables) -> Found:
            tables.search.begin_anew()
            return tables.search.find(query, **filters)  # type: ignore[arg-type]

        return db.write(within).result()

    return indexed if request.param == "indexed" else not_indexed


def catch_up(connection: Connection) -> None:
    index = SearchIndex(connection)
    while index.catch_up():
        pass


def ids(found: Found) -> list[int]:
    return [hit.message_id for hit in found.hits]


@pytest.mark.parametrize(
    ("query", "said", "not_said"),
    [
        ("multi-agent", "a Multi-Agent run", "multi agent, multi_agent"),
        ("don't", "I don't know", "don t"),
        ("don't", "I don’t know", "dont"),
        ("POL-358", "see pol-358.", "pol 358 and POL-3558"),
        ("@nasa", "ask @NASA", "ask nasa"),
        ("a=b", "if a=b", "if a = b, or aa=b"),
        ('"', 'a " sign', "no sign"),
        ("*", "2 * 3", "2 x 3"),
        ("foo AND", "foo, and bar", "foo bar"),
        ("NEAR(", "NEAR(a b)", "near a b"),
        ("col:val", "set col:val", "col val"),
        ("50%", "at 50%", "at 50"),
        ("x\\y", "in x\\y", "in x/y"),
        ("_", "snake_case", "snake-case"),
        ("🚀", "shipped 🚀", "shipped 🥲"),
        ("🥲", "shipped🥲", "shipped 🚀"),
        ("shipped", "shipped🥲", "ships"),
        ("->", "a -> b", "a - > b"),
        ('"exact phrase"', "the exact\n  phrase", "exact, phrase"),
        ('a"b', 'say a"b', "a b"),
        ("a\0b", "nul a\0b", "a b"),
        ("go", "let it go", "ergo"),
        ("proj rev", "rev of a proj", "proj only"),
        ("revi", "a review", "preview"),
        ("revi ", "revi", "a review"),
        ("CAFÉ", "cafe", "caf"),
        ("cafe", "cafe\u0301", "caf"),
        ("viet", "Việt Nam", "vie"),
        ("Straße", "in der straße", "Strasse"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος", "σίσυ"),
        ("项目评审", "明天下午三点开项目评审会议", "项目的评审"),
        ("项目", "开项目", "项的目"),
        ("한글", "한글 파일", "한국"),
        ("한글", "\u1112\u1161\u11ab\u1100\u1173\u11af", "한국"),
        ("ประชุม", "การประชุมวันนี้", "ประชน"),
    ],
)
def test_E16_a_query_is_found_as_it_was_typed_and_not_otherwise(
    tell: Tell, find: Find, query: str, said: str, not_said: str
) -> None:
    wanted = tell(said)
    tell(not_said)
    found = find(query)
    assert (ids(found), found.note) == ([wanted], "")


@pytest.mark.parametrize("query", ["", " ", "\n\u2028\t"])
def test_E16_an_empty_query_finds_nothing_and_says_so(tell: Tell, find: Find, query: str) -> None:
    tell("something")
    assert find(query) == Found((), NOTHING_ASKED)


@pytest.mark.parametrize(
    "text",
    ["word " * 1_000, "x" * 5_000, "a-" * 2_500, "项目" * 2_500, "🚀" * 5_000],
    ids=["words", "a word", "parts", "unspaced", "signs"],
)
def test_E16_of_5000_characters_the_first_are_searched_for_and_it_is_said(tell: Tell, find: Find, text: str) -> None:
    wanted = tell(text)
    found = find(text)
    assert (ids(found), found.note) == ([wanted], CUT)


def test_E17_a_part_of_a_clause_without_spaces_is_found(tell: Tell, find: Find) -> None:
    clause, mixed = tell("明天下午三点开项目评审会议"), tell("重跑gen-itgc后")
    assert ids(find("项目评审")) == [clause]
    assert ids(find("itgc")) == [mixed]


typed = (
    st.text()
    | st.text(st.sampled_from("ab \"'*:^(){}+-_=%\\.,/@#&|~<>\0éÉ\u0301项目ก็🚀🥲’"))
    | st.sampled_from(
        [
            "foo AND bar",
            "NOT x",
            "a OR",
            "NEAR(a b, 2)",
            "text:a",
            '"a',
            'a"b"',
            '"a" "b"',
            "^a",
            "a*",
            "-a",
            "{text}:a",
        ]
    )
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=ROUNDS)
@given(text=typed, before=st.sampled_from(["", "x ", "\n"]), after=st.sampled_from(["", " y", "\ty"]))
def test_E16_any_text_finds_a_row_that_contains_it(
    tell: Tell, find: Find, new_session: Callable[..., str], text: str, before: str, after: str
) -> None:
    session_id = new_session()
    wanted = tell(before + text + after, session_id)
    found = find(text, session_id=session_id)
    expected: tuple[list[int], str] = ([wanted], "") if text.strip() else ([], NOTHING_ASKED)
    assert (ids(found), found.note) == expected
    for hit in found.hits:
        assert all(0 <= start < end <= len(hit.snippet) for start, end in hit.spans)
        assert hit.spans


def test_other_signs_than_those_typed_are_told_of(tell: Tell, db: SessionDB) -> None:
    tell("multi agent")
    db.aside(catch_up).result()
    found = db.read(lambda t: t.search.find("multi-agent")).result()
    assert found == Found((), search.OTHER_SIGNS)


def test_filters_leave_rows_out(tell: Tell, find: Find, new_session: Callable[..., str]) -> None:
    a = new_session(cwd="/a/deep", workspace="/a", source="tui", title="First")
    b = new_session(cwd="/b", workspace="/b", source="chat")
    rows = [tell("word", a, created_at=1.0), tell("word", b, created_at=2.0, role=Role.ASSISTANT), tell("word", a)]
    assert sorted(ids(find("word"))) == rows
    assert ids(find("word", role=Role.ASSISTANT)) == [rows[1]]
    assert ids(find("word", session_id=b)) == [rows[1]]
    assert ids(find("word", session_id="none such")) == []
    assert ids(find("word", since=2.0)) == [rows[1]]
    assert sorted(ids(find("word", until=2.0))) == [rows[0], rows[2]]
    assert sorted(ids(find("word", cwd="/a"))) == sorted(ids(find("word", cwd="/a/deep"))) == [rows[0], rows[2]]
    assert ids(find("word", source="chat")) == [rows[1]]
    assert find("word", session_id=a).hits[0].title == "First"


@pytest.mark.parametrize("query", ["word", "->"])
def test_a_page_is_a_part_of_the_whole_in_its_order(tell: Tell, find: Find, query: str) -> None:
    rows = [tell(f"{number} word -> thing") for number in range(50)]
    assert ids(find(query, order="oldest", limit=60)) == rows
    assert ids(find(query, order="newest", limit=60)) == rows[::-1]
    assert ids(find(query, order="newest", limit=7, offset=40)) == rows[9:2:-1]
    assert ids(find(query, limit=0)) == []
    assert len(ids(find(query))) == 20


def test_the_row_that_says_most_of_it_is_the_best(tell: Tell, db: SessionDB) -> None:
    passing = tell("word " + "and something else " * 50)
    best = tell("word, word, word")
    db.aside(catch_up).result()
    assert ids(db.read(lambda t: t.search.find("word")).result()) == [best, passing]


def test_rewound_rows_are_left_out_until_the_rewind_is_undone(
    db: SessionDB, tell: Tell, find: Find, session_id: str
) -> None:
    kept, rewound = tell("word one"), tell("word two")
    db.write(lambda t: t.lineage.rewind(session_id, rewound, 2.0)).result()
    assert ids(find("word")) == [kept]
    db.write(lambda t: t.lineage.undo_rewind(session_id)).result()
    assert sorted(ids(find("word"))) == [kept, rewound]


def test_compacted_rows_are_found(db: SessionDB, tell: Tell, find: Find, session_id: str) -> None:
    compacted, kept = tell("word one"), tell("another")
    summary = Message(session_id, Role.USER, "summary", 2.0)
    db.write(lambda t: t.lineage.swap(session_id, compacted, kept, summary, 0)).result()
    assert ids(find("word")) == [compacted]
    assert len(ids(find("summary"))) == 1


@pytest.mark.parametrize("order", ["best", "newest", "oldest"])
def test_what_a_branch_copied_is_found_once_where_it_was_said(
    db: SessionDB, tell: Tell, find: Find, session_id: str, order: str
) -> None:
    said = tell("word")
    db.write(lambda t: t.lineage.branch(session_id, said, "branch", 2.0)).result()
    db.write(lambda t: t.lineage.branch("branch", t.messages.all("branch")[0].id, "twig", 3.0)).result()
    assert ids(find("word", order=order)) == [said]
    (copy,) = find("word", session_id="branch", order=order).hits
    assert copy.session_id == "branch"


def test_a_copy_is_found_once_when_the_original_is_gone(db: SessionDB, tell: Tell, find: Find, session_id: str) -> None:
    said = tell("word")
    db.write(lambda t: t.lineage.branch(session_id, said, "branch", 2.0)).result()
    db.write(lambda t: t.lineage.branch("branch", t.messages.all("branch")[0].id, "twig", 3.0)).result()
    db.write(lambda t: t.sessions.delete(session_id, 4.0)).result()
    assert len(find("word").hits) == 1


def test_deleted_sessions_are_not_found_and_leave_no_word_behind(
    db: SessionDB, tell: Tell, find: Find, session_id: str
) -> None:
    tell("secret 项目 words", calls=(ToolCall("c", "n", '{"a": "b"}'),))
    assert len(find("secret").hits) == 1
    db.write(lambda t: t.sessions.delete(session_id, 2.0)).result()
    assert find("secret").hits == ()
    left = "SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'secret'"
    assert db.read(lambda t: t.connection.rows(left)).result() == []


def test_ended_and_archived_sessions_are_found(db: SessionDB, tell: Tell, find: Find, session_id: str) -> None:
    said = tell("word")
    db.write(lambda t: t.sessions.end(session_id, EndReason.NEW, 2.0)).result()
    assert ids(find("word")) == [said]


def test_of_a_call_its_name_and_what_it_was_given_are_found(tell: Tell, find: Find) -> None:
    code = 'import os\\nprint(\\"x\\")'
    said = tell(
        "", role=Role.ASSISTANT, calls=(ToolCall("id7", "write_file", f'{{"path": "a.py", "content": "{code}"}}'),)
    )
    for query in ("write_file", "print", 'print("x")', "a.py", '("'):
        assert ids(find(query)) == [said]
    for query in ("content", "arguments", "id7"):
        assert ids(find(query)) == []


def test_broken_arguments_are_found_as_they_are(tell: Tell, find: Find) -> None:
    said = tell("", role=Role.ASSISTANT, calls=(ToolCall("c", "write_file", '{"content": "import o'),))
    assert ids(find("import")) == [said]


def test_notices_and_the_far_end_of_an_output_are_not_searched(tell: Tell, find: Find) -> None:
    tell("word", role=Role.NOTICE)
    output = tell("word " + "x" * 9_000 + " beyond", role=Role.TOOL)
    tell("far " + "x" * 9_000 + " answer", role=Role.ASSISTANT)
    assert ids(find("word")) == [output]
    assert ids(find("beyond")) == []
    assert len(ids(find("answer"))) == 1


def test_a_search_that_reads_rows_ends_in_time_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tell: Tell, find: Find
) -> None:
    for _ in range(3):
        tell("a -> b")
    monkeypatch.setattr(search, "PATIENCE_S", -1.0)
    found = find("->")
    assert 1 <= len(found.hits) < 3
    assert found.note == search.STOPPED.format(s=-1)


def test_rows_that_wait_too_long_for_the_index_are_told_of(
    monkeypatch: pytest.MonkeyPatch, db: SessionDB, tell: Tell
) -> None:
    monkeypatch.setattr(search, "PENDING_ROWS", 2)
    monkeypatch.setattr(search_candidates, "PENDING_ROWS", 2)

    def before_the_index_follows(tables: Tables) -> Found:
        tables.search.begin_anew()
        return tables.search.find("word")

    for _ in range(5):
        tell("word")
    found = db.write(before_the_index_follows).result()
    assert found.note == search.INDEXING
    assert len(found.hits) >= 2


def test_a_row_that_holds_no_text_is_no_obstacle(db: SessionDB, tell: Tell, find: Find) -> None:
    damaged, said = tell("damaged"), tell("word")
    db.write(lambda t: t.connection.run("UPDATE messages SET content = x'ff00', role = 'ghost' WHERE id = ?", damaged))
    assert ids(find("word")) == [said]
    assert ids(find("->")) == []


@pytest.mark.parametrize("gap", range(25, 60))
def test_no_part_of_what_is_masked_is_left_at_the_edge_of_a_snippet(tell: Tell, find: Find, gap: int) -> None:
    secret = "sk-secret-0123456789"
    tell(f"{secret}{'.' * gap} needle {'.' * (70 - gap)}{secret} and {'more ' * 30}")
    (hit,) = find("needle", redact=lambda text: text.replace(secret, "[KEY]")).hits
    assert not any(secret[start : start + 4] in hit.snippet for start in range(len(secret) - 3))
    assert [hit.snippet[start:stop] for start, stop in hit.spans] == ["needle"]
