"""Whatever a session does to files, a rewind to any of its calls brings them back, and the undo takes that back."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.checkpoints.checkpoints import Checkpoints
from agent.config.home import Home
from agent.tools.base import CallContext, Workplace
from agent.tools.registry import TOOLS

Look = Callable[[Path], Any]

PATHS = ("a", "b c", "d", "d/x", "d/e", "d/e/y", "d/e/z", "f/g/h", "\u00fc\u0308", "-n")
CONTENTS = ("", "1\n", "2\n", "no end", "crlf\r\n", "\x00\x01", "long " * 50)


@dataclass(frozen=True)
class Written:
    """One call of write_file."""

    path: str
    content: str


path = st.sampled_from(PATHS)
quoted = path.map(lambda name: shlex.quote(f"./{name}"))
command = st.one_of(
    st.builds(
        "mkdir -p $(dirname {0}); printf %s {1} > {0}".format, quoted, st.sampled_from(CONTENTS[:5]).map(shlex.quote)
    ),
    st.builds("printf more >> {}".format, quoted),
    st.builds("rm -rf {}".format, quoted),
    st.builds("mv -T {} {}".format, quoted, quoted),
    st.builds("cp -a {} {}".format, quoted, quoted),
    st.builds("chmod {1} {0}".format, quoted, st.sampled_from(("600", "644", "755", "400", "711", "1777"))),
    st.builds("rm -f {1}; ln -s {0} {1}".format, quoted, quoted),
    st.builds("mkdir -p {}".format, quoted),
    st.builds("touch -d @1 {}".format, quoted),
    st.builds("ln {} {}".format, quoted, quoted),
    st.builds("sed -i s/1/2/ {}".format, quoted),
    st.just("git add -A"),
)
script = st.lists(command, min_size=1, max_size=5).map("\n".join)
written = st.builds(Written, path, st.sampled_from(CONTENTS))
calls = st.lists(st.one_of(script, script, written), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(at_first=script, done=calls, back_to=st.integers(0, 5), is_git=st.booleans())
def test_a_rewind_to_any_call_restores_byte_for_byte(
    at_first: str, done: list[str | Written], back_to: int, is_git: bool, look: Look
) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder, "ws")
        root.mkdir()
        if is_git:
            subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        bash(root, at_first)
        asyncio.run(rewound(Path(folder), root, done, min(back_to, len(done) - 1), look))


async def rewound(folder: Path, root: Path, done: list[str | Written], back_to: int, look: Look) -> None:
    home = Home(folder / "home", "~")
    home.create()
    checkpoints = Checkpoints(home, "s", root)
    place = Workplace(root, root, {"PATH": "/usr/bin:/bin", "HOME": folder.as_posix()}, folder / "outputs")
    stood = [await act(checkpoints, place, str(number), deed, look) for number, deed in enumerate(done)]
    after = look(root)
    plan = await checkpoints.changes_since([str(number) for number in range(back_to, len(done))])
    assert plan.conflicts == ()
    restored = await checkpoints.restore(plan)
    assert (restored.failed, look(root)) == ((), stood[back_to])
    undone = await checkpoints.undo(restored)
    assert (undone.failed, look(root)) == ((), after)
    await checkpoints.close()


async def act(checkpoints: Checkpoints, place: Workplace, call: str, deed: str | Written, look: Look) -> Any:
    """What stood there before the call."""
    before = look(place.root)
    if isinstance(deed, str):
        await checkpoints.before(call)
        bash(place.root, deed)
    else:
        args = {"path": deed.path, "content": deed.content}
        await TOOLS["read_file"].run({"path": deed.path}, CallContext(place, call, lambda _: None))
        await checkpoints.before(call, TOOLS["write_file"].touches(args, place).writes)
        await TOOLS["write_file"].run(args, CallContext(place, call, lambda _: None))
    await checkpoints.after(call)
    return before


def bash(root: Path, script: str) -> None:
    """Each line whether or not the one before it could be done."""
    subprocess.run(["bash", "-c", script], cwd=root, check=False, capture_output=True)
