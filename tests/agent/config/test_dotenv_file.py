""".env files: read literally, changed one name at a time, and never at the cost of anything else in them."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from dotenv.parser import parse_stream
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from agent.config.dotenv_file import is_dangerous, read_names, set_name, unset_name
from agent.config.dotenv_text import bad_lines, values
from agent.config.locked_file import NotSaved

KEY = "sk-test-0123456789"
FUZZED = 5_000 if os.environ.get("HERMES_SOAK") else 300
SAME_FILE = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)

VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40) | st.text(
    " \t\n\r'\"\\#$`=é😀\ufeff\u2028n", max_size=12
)
NAMES = st.sampled_from(["A_KEY", "B_KEY", "A", "C_TOKEN"])
# Lines a person may have, each of them whole.
OTHER_LINES = st.sampled_from(
    [
        "# a comment\n",
        "\n",
        "  \t\r\n",
        "X1=plain\n",
        "export X2='single # quoted'   # why\n",
        'X3="over\nseveral\n\nlines"\n',
        "X4 = spaced   \r\n",
        "no assignment at all\n",
        "X5='it''s broken\n",
        "X6=a#b # c\n",
        "X7=\n",
        'X8="é\\"😀"\n',
    ]
)
BROKEN = (
    st.binary(max_size=120)
    | st.text("AB=_'\"\\ \n\r#$exportK\0é", max_size=80).map(lambda text: text.encode())
    | st.lists(OTHER_LINES, max_size=6).flatmap(
        lambda lines: st.integers(0, len("".join(lines))).map(lambda cut: "".join(lines)[cut:].encode())
    )
)


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    return tmp_path / ".env"


Read = Callable[[str | bytes], dict[str, str]]


@pytest.fixture
def read(env_file: Path) -> Read:
    def write_and_read(text: str | bytes) -> dict[str, str]:
        env_file.write_bytes(text.encode() if isinstance(text, str) else text)
        names, problems = read_names(env_file)
        assert problems == ()
        return names

    return write_and_read


# Lines that need no parser, and what lies nearest to them.
NEAR_SIMPLE = st.lists(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}=[A-Za-z0-9_./:@%+,=~-]{0,20}", fullmatch=True)
    | st.from_regex(r"#[ -~]{0,20}", fullmatch=True)
    | st.text("Ae1_=-. \t'\"\\\\#$\x0b\x0c\x85\u2028é", max_size=9)
    | st.sampled_from(["", "export=1", "export A=1", "A", "# " + " " * 199, "#" * 300, "A=" + "x" * 300, "A=a#b"]),
    max_size=8,
)


@settings(max_examples=FUZZED)
@given(NEAR_SIMPLE, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_a_simple_text_means_what_the_parser_reads_in_it(lines: list[str], end: str, is_ended: bool):
    text = end.join(lines) + (end if is_ended else "")
    assume(" " * 200 not in text)  # from there on nothing is parsed
    read = [of for of in parse_stream(StringIO(text)) if of.error or of.key]
    is_name = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*").fullmatch
    good = [of for of in read if of.value is not None and is_name(of.key or "")]
    assert values(text) == {of.key: of.value for of in good}
    assert bool(bad_lines(text)) == (len(good) < len(read))


@pytest.mark.parametrize(("text", "is_parsed"), [("# mine\n\nA_KEY=abc\nB=\n", "False"), ("A='b c'\n", "True")])
def test_a_simple_file_costs_a_start_no_parser(env_file: Path, text: str, is_parsed: str):
    env_file.write_text(text)
    program = "import sys; from pathlib import Path; from agent.config.dotenv_file import read_names; "
    program += "assert read_names(Path(sys.argv[1]))[0]; print('dotenv' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program, str(env_file)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == is_parsed


def test_T19_a_byte_order_mark_is_skipped_and_kept(env_file: Path, read: Read):
    assert read(b"\xef\xbb\xbfA_KEY=abc\n") == {"A_KEY": "abc"}
    set_name(env_file, "A_KEY", "new")
    assert env_file.read_bytes() == b"\xef\xbb\xbfA_KEY=new\n"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A_KEY=abc", "abc"),
        ("export A_KEY=abc", "abc"),
        (" \texport\tA_KEY = abc ", "abc"),
        ("A_KEY='a # b'", "a # b"),
        ("A_KEY='a' # b", "a"),
        ('A_KEY="a\\"b\\n"', 'a"b\n'),
        ("A_KEY='a\\'b\\n'", "a'b\\n"),
        ('A_KEY="a\\$b"', "a\\$b"),
        ("A_KEY=abc # a comment", "abc"),
        ("A_KEY=abc#def", "abc#def"),
        ("A_KEY=#def", "#def"),
        ("A_KEY= # put it here", ""),
        ("A_KEY=", ""),
        ("A_KEY=abc\r\n", "abc"),
        ("A_KEY=${HOME}$HOME", "${HOME}$HOME"),
        ("A_KEY=`id`$(id)", "`id`$(id)"),
        ('A_KEY="one\ntwo"', "one\ntwo"),
        ("A_KEY=first\nA_KEY=last", "last"),
        ("A_KEY=it's", "it's"),
    ],
)
def test_a_line_is_read_literally(read: Read, line: str, value: str):
    assert read(line) == {"A_KEY": value}


def test_reading_leaves_the_process_environment_alone(read: Read):
    before = dict(os.environ)
    read("HERMES_TEST_KEY=abc\nPATH=/nowhere\n")
    assert dict(os.environ) == before


def test_each_bad_line_is_named_without_its_content_and_the_others_hold(env_file: Path):
    env_file.write_text(f"A_KEY=abc\n\n\n{KEY}\n# fine\nB_KEY\nC_KEY=x\nD_KEY=\"{KEY}\nE_KEY='{KEY}'{KEY}\nF_KEY=y\n")
    names, problems = read_names(env_file, ".env")
    assert names == {"A_KEY": "abc", "C_KEY": "x", "F_KEY": "y"}
    assert [problem.line for problem in problems] == [4, 6, 8, 9]
    assert all(KEY not in problem.sentence for problem in problems)
    assert problems[0].sentence == ".env, line 4: this line takes NAME=value; it is left out."


def test_a_bad_line_is_counted_once_however_lines_end(env_file: Path):
    env_file.write_bytes(b"bad\r\n\r\nA_KEY=1\r\nbad\r\n\r\nbad\rbad\nB_KEY=2")
    names, problems = read_names(env_file)
    assert names == {"A_KEY": "1", "B_KEY": "2"}
    assert [problem.line for problem in problems] == [1, 4, 6, 7]


def test_a_line_of_blanks_without_end_costs_no_time_and_none_above_it(env_file: Path):
    env_file.write_text(f"A_KEY=abc\nB_KEY=x{' ' * 900_000}y\n")
    started_s = time.process_time()
    names, problems = read_names(env_file)
    assert time.process_time() - started_s < 2
    assert names == {"A_KEY": "abc"}
    assert [problem.line for problem in problems] == [2]


@pytest.mark.parametrize("line", ["pass word=x", "s3cret/+9==", "'a b'=x", "9=x", "é=x"])
def test_what_no_variable_is_called_is_not_taken_for_a_name(env_file: Path, line: str):
    env_file.write_text(f"{line}\nA_KEY=abc\n")
    names, problems = read_names(env_file, ".env")
    assert names == {"A_KEY": "abc"}
    assert [problem.line for problem in problems] == [1]


def test_a_second_byte_order_mark_is_kept_when_a_line_is_changed_or_taken_out(env_file: Path):
    env_file.write_bytes(b"\xef\xbb\xbf\xef\xbb\xbf# mine\nA_KEY=old\nB_KEY=x\n")
    set_name(env_file, "A_KEY", "new")
    unset_name(env_file, "B_KEY")
    assert env_file.read_bytes() == b"\xef\xbb\xbf\xef\xbb\xbf# mine\nA_KEY=new\n"


@settings(max_examples=300, suppress_health_check=SAME_FILE)
@given(value=VALUES)
@example("multi\nline\r\n\twith 'both' \"quotes\" and # and $HOME \\ ")
@example(" ")
@example("\\")
def test_any_value_comes_back_as_it_was_given(env_file: Path, value: str):
    env_file.unlink(missing_ok=True)
    set_name(env_file, "A_KEY", value)
    assert read_names(env_file) == ({"A_KEY": value}, ())


Step = tuple[str, str | None]


@settings(max_examples=200, suppress_health_check=SAME_FILE)
@given(lines=st.lists(OTHER_LINES, max_size=8), steps=st.lists(st.tuples(NAMES, VALUES | st.none()), max_size=8))
def test_any_sequence_of_changes_leaves_every_other_byte(env_file: Path, lines: list[str], steps: list[Step]):
    """The own names stand in front, between and behind the lines of others at first, so taking all out gives those back."""
    before = "".join(lines).encode()
    half = len("".join(lines[: len(lines) // 2]).encode())
    env_file.write_bytes(b"A_KEY=1 \n" + before[:half] + b"export B_KEY = '2'\n" + before[half:])
    expected = read_names(env_file)[0]
    for name, value in steps:
        if value is None:
            assert unset_name(env_file, name) == (name in expected)
            expected.pop(name, None)
        else:
            set_name(env_file, name, value)
            expected[name] = value
        assert read_names(env_file)[0] == expected
    for name in ("A_KEY", "B_KEY", "A", "C_TOKEN"):
        unset_name(env_file, name)
    assert env_file.read_bytes() == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("export A_KEY = 'old' # mine\nB=1", "export A_KEY = new # mine\nB=1"),
        ("A_KEY='old'# mine\n", "A_KEY='new'# mine\n"),
        ("A_KEY= # put it here\n", "A_KEY=new # put it here\n"),
        ("A_KEY=first\nA_KEY=last\n", "A_KEY=first\nA_KEY=new\n"),
        ("B=1", "B=1\nA_KEY=new\n"),
        ("B=1\r\n", "B=1\r\nA_KEY=new\r\n"),
        ("#A_KEY=off\n", "#A_KEY=off\nA_KEY=new\n"),
    ],
)
def test_a_value_takes_the_place_of_the_old_one(env_file: Path, before: str, after: str):
    env_file.write_bytes(before.encode())
    set_name(env_file, "A_KEY", "new")
    assert env_file.read_bytes() == after.encode()


def test_unset_takes_out_every_line_of_the_name(env_file: Path):
    env_file.write_text("A_KEY=first\n# kept\nexport A_KEY='la\nst' # gone\nB=1\n")
    assert unset_name(env_file, "A_KEY")
    assert env_file.read_text() == "# kept\nB=1\n"
    assert not unset_name(env_file, "A_KEY")


@pytest.mark.soak
@pytest.mark.timeout(180)
@settings(max_examples=FUZZED, suppress_health_check=SAME_FILE)
@given(raw=BROKEN, value=VALUES)
def test_a_broken_file_is_read_for_what_it_holds_and_never_lost(env_file: Path, raw: bytes, value: str):
    """Either the name is set and all others read as before, or one sentence says why not and no byte has moved."""
    env_file.write_bytes(raw)
    before, problems = read_names(env_file, ".env")
    assert all(problem.sentence.startswith(".env") for problem in problems)
    try:
        set_name(env_file, "A_KEY", value, ".env")
    except NotSaved as error:
        assert "\n" not in str(error)
        assert env_file.read_bytes() == raw
    else:
        assert read_names(env_file)[0] == {**before, "A_KEY": value}


@pytest.mark.parametrize("kind", ["folder", "pipe", "bytes", "large"])
def test_what_cannot_be_read_is_not_written_over(env_file: Path, kind: str):
    match kind:
        case "folder":
            env_file.mkdir()
        case "pipe":
            os.mkfifo(env_file)
        case "bytes":
            env_file.write_bytes(b"A=\xff\n")
        case _:
            env_file.write_bytes(b"A=1\n" * 300_000)
    before = env_file.stat()
    with pytest.raises(NotSaved, match="was not changed"):
        set_name(env_file, "A_KEY", KEY)
    assert (before.st_ino, before.st_size) == (env_file.stat().st_ino, env_file.stat().st_size)
    assert len(read_names(env_file)[1]) == 1


@pytest.mark.parametrize(
    "name", ["PATH", "LD_PRELOAD", "PYTHONPATH", "HERMES_YOLO_MODE", "HERMES_HOME", "GIT_SSH_COMMAND"]
)
def test_a_dangerous_name_is_refused(env_file: Path, name: str):
    with pytest.raises(NotSaved, match=name):
        set_name(env_file, name, "x")
    assert not env_file.exists()


@pytest.mark.parametrize(
    "name", ["LDAP_TOKEN", "GITHUB_TOKEN", "PATHFINDER_KEY", "PYTHONANYWHERE_TOKEN", "HERMES_MODEL_KEY"]
)
def test_a_name_that_merely_begins_like_one_is_not(name: str):
    assert not is_dangerous(name)


@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
def test_a_value_no_text_file_can_hold_is_refused_without_repeating_it(env_file: Path, value: str):
    with pytest.raises(NotSaved, match="characters that no text file can"):
        set_name(env_file, "A_KEY", value)
    assert not env_file.exists()


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A=B", "A\nB", "É", KEY])
def test_a_name_that_is_none_is_refused_without_repeating_it(env_file: Path, name: str):
    with pytest.raises(NotSaved) as raised:
        set_name(env_file, name, "x")
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("umask", [0o022, 0o000, 0o277])
def test_the_file_is_for_its_owner_only(env_file: Path, umask: int):
    env_file.write_text("A_KEY=old\n")
    env_file.chmod(0o644)
    before = os.umask(umask)
    try:
        set_name(env_file, "A_KEY", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE(env_file.stat().st_mode) == 0o600


def test_a_link_stays_a_link(env_file: Path, tmp_path: Path):
    target = tmp_path / "elsewhere"
    target.write_text("B=1\n")
    env_file.symlink_to(target)
    set_name(env_file, "A_KEY", "new")
    assert env_file.is_symlink()
    assert target.read_text() == "B=1\nA_KEY=new\n"


def test_a_folder_that_is_gone_is_not_made_again(tmp_path: Path):
    path = tmp_path / "gone" / ".env"
    with pytest.raises(NotSaved, match="its folder can't be written"):
        set_name(path, "A_KEY", "new")
    assert not unset_name(path, "A_KEY")
    assert not path.parent.exists()


def test_two_processes_lose_nothing(env_file: Path):
    script = (
        "import sys; from pathlib import Path; from agent.config.dotenv_file import set_name, unset_name\n"
        "path, who = Path(sys.argv[1]), sys.argv[2]\n"
        "for n in range(40):\n"
        "    set_name(path, f'{who}_{n}', who * n)\n"
        "    if n % 3 == 0: unset_name(path, f'{who}_{n}')\n"
    )
    env_file.write_text("# kept\n")
    writers = [subprocess.Popen([sys.executable, "-c", script, str(env_file), who]) for who in "AB"]
    assert [writer.wait(25) for writer in writers] == [0, 0]
    names, problems = read_names(env_file)
    assert names == {f"{who}_{n}": who * n for who in "AB" for n in range(40) if n % 3}
    assert problems == ()
    assert env_file.read_text().startswith("# kept\n")
