"""What a command runs in the end: wrappers taken off, one layer at a time."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from agent.approvals.shell_word import UNKNOWN

_MOST_LAYERS = 200


class Layer(Struct, frozen=True):
    """A command inside another. In `argv` a word that is not fixed holds NUL; `guess` is what it may be.

    `is_shell`: bash looks the name up, so that its builtins count. `is_open`: further words follow that nobody knows.
    `opaque` says why what stands around it asks; `texts` are commands that it hands to a shell; `folder` is where it
    goes first. `is_last`: it wraps nothing more.
    """

    argv: tuple[str, ...]
    guess: tuple[str, ...]
    is_shell: bool = True
    is_open: bool = False
    opaque: str = ""
    texts: tuple[str, ...] = ()
    folder: str = ""
    is_last: bool = False

    @property
    def name(self) -> str:
        """Without its folder; "" where it is not fixed."""
        return "" if not self.argv or UNKNOWN in self.argv[0] else self.argv[0].rpartition("/")[2]

    def inner(self, start: int, end: int | None = None, **changes: object) -> Layer:
        return replace(self, argv=self.argv[start:end], guess=self.guess[start:end], **changes)

    def asking(self, why: str) -> Layer:
        return replace(self, opaque=self.opaque or why)


class _Wrapper(Struct, frozen=True):
    """How a wrapper is called: its options, and how many words stand before the command. `why` is why it asks, or ""."""

    switches: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    before: int = 0
    why: str = ""
    strange: str = ""  # those of its options that ask


# The one reason for which a rule still counts: the words in front of what is not known are as they stand.
GETS_MORE = "gets arguments that are known only when it runs"
_AS_ANOTHER = "runs as another user"
_ELSEWHERE = "runs what follows in a way that is not judged"

_WRAPPERS: dict[str, _Wrapper] = {
    "timeout": _Wrapper("fpv", "ks", frozenset({"foreground", "preserve-status", "kill-after=", "signal="}), 1),
    "nohup": _Wrapper(),
    "nice": _Wrapper("0123456789", "n", frozenset({"adjustment="})),
    "ionice": _Wrapper("t", "cn", frozenset({"class=", "classdata="})),
    "stdbuf": _Wrapper("", "ioe", frozenset({"input=", "output=", "error="})),
    "setsid": _Wrapper("cw", "", frozenset({"wait"})),
    "sudo": _Wrapper("AbEHnPSkKls", "ugpChrtTUDR", why=_AS_ANOTHER),
    "doas": _Wrapper("ns", "uC", why=_AS_ANOTHER),
    "runuser": _Wrapper("lmp", "ugGcs", why=_AS_ANOTHER),
    "pkexec": _Wrapper("", "", frozenset({"user="}), why=_AS_ANOTHER),
    "busybox": _Wrapper(why="runs through busybox"),
    "toybox": _Wrapper(why="runs through toybox"),
    "watch": _Wrapper("bdegtcxp", "n", why=_ELSEWHERE),
    "strace": _Wrapper("cCdfFhiqrtTvVxyk", "abeEIoOpPsSuX", why=_ELSEWHERE),
    "ltrace": _Wrapper("cCfiLrStT", "aADeFlnopsux", why=_ELSEWHERE),
    "chroot": _Wrapper(before=1, why=_ELSEWHERE),
    "unshare": _Wrapper("muinpUCfrcT", "RwSGl", why=_ELSEWHERE),
    "nsenter": _Wrapper("amuinpUCTrwFZ", "tSGW", why=_ELSEWHERE),
    "bwrap": _Wrapper(why=_ELSEWHERE),
    "flock": _Wrapper("nsuoxF", "wEc", before=1, why=_ELSEWHERE),
    "taskset": _Wrapper("a", "c", before=1, why=_ELSEWHERE),
    "chrt": _Wrapper("bfiormv", "DPT", before=1, why=_ELSEWHERE),
    "systemd-run": _Wrapper("dtPqGrSl", "puEM", why=_ELSEWHERE),
    "caffeinate": _Wrapper("disumu", "tw", why=_ELSEWHERE),
    "unbuffer": _Wrapper("p", why=_ELSEWHERE),
    "script": _Wrapper("aefq", "cIOBTEmo", why=_ELSEWHERE),
    "fakeroot": _Wrapper(why=_ELSEWHERE),
    "xvfb-run": _Wrapper("al", "efnpsw", why=_ELSEWHERE),
    "torsocks": _Wrapper(why=_ELSEWHERE),
    "proxychains": _Wrapper("q", "f", why=_ELSEWHERE),
    "xargs": _Wrapper("0oprtx", "aELnPsd", why=GETS_MORE),
    "parallel": _Wrapper("0kmqtuvXx", "aCDEIjLnNPsS", why="hands what follows to a shell"),
}
# What bash itself has of them.
_SHELL_WRAPPERS: dict[str, _Wrapper] = {
    "time": _Wrapper("p"),
    "command": _Wrapper(),
    "builtin": _Wrapper(),
    "exec": _Wrapper("cl", "a", strange="acl"),
    "coproc": _Wrapper(why="runs beside the shell"),
}

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish"})
# Nothing that dash and bash read in different ways.
_SAME_IN_EVERY_SHELL = re.compile(r"(?!.*(?:&>|<\(|>\(|\$'|\|&|<<<))[A-Za-z0-9 _./:=@,+%\n\"'|;&<>*-]*", re.DOTALL)
_HARMLESS_NAMES = re.compile(r"TZ|NO_COLOR|CLICOLOR(?:_FORCE)?|FORCE_COLOR|COLUMNS|LINES")
_LOCALE_NAMES = re.compile(r"LANG|LC_[A-Z]+")
# In Big5, GBK and Shift JIS a backslash can be half a character, so that a shell reads its text otherwise than we do.
_HARMLESS_LOCALE = re.compile(r"(?:C|POSIX|)|(?:C|[a-z]{2,3}_[A-Z]{2})\.(?i:utf-?8)(?:@[a-z]+)?")
_READ_AS_WRITTEN = re.compile(r"(?:C|POSIX|)|.+\.(?i:utf-?8|iso-?8859-?[0-9]+)(?:@[a-z]+)?")
_HARMLESS_VALUE = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_.@+-]*(?:/[A-Za-z0-9_+-]+){0,2}|")


def layers(outermost: Layer) -> tuple[Layer, ...]:
    """The command and all that it wraps, from outside in; `find` may wrap several."""
    found = [outermost]
    at = 0
    while at < len(found):
        inner = tuple(_unwrap(found[at])) if len(found) < _MOST_LAYERS else ()
        found[at] = replace(found[at], is_last=not inner)
        found += inner
        at += 1
    return tuple(found)


def is_harmless_setting(assignment: str) -> bool:
    """Whether `NAME=value` in front of a command changes only how it looks."""
    name, _, value = assignment.partition("=")
    if _LOCALE_NAMES.fullmatch(name):
        return bool(_HARMLESS_LOCALE.fullmatch(value))
    return bool(_HARMLESS_NAMES.fullmatch(name)) and bool(_HARMLESS_VALUE.fullmatch(value))


def reads_as_written(environ: Mapping[str, str]) -> bool:
    """Whether the characters of a command are the same for the shell, by the locale that it runs in."""
    locale = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environ.get(name))), "")
    return _READ_AS_WRITTEN.fullmatch(locale) is not None


def _unwrap(layer: Layer) -> Iterator[Layer]:
    name = layer.name
    if name in _SPECIAL:
        yield from _SPECIAL[name](layer)
    elif layer.is_shell and name == "command" and layer.argv[1:2] in (("-v",), ("-V",)):
        yield replace(layer, argv=("type", *layer.argv[2:]), guess=("type", *layer.guess[2:]))
    elif wrapper := (_SHELL_WRAPPERS.get(name) if layer.is_shell else None) or _WRAPPERS.get(name):
        yield from _behind(layer, wrapper, is_shell=layer.is_shell and name in _SHELL_WRAPPERS)
    elif name in SHELLS:
        yield from _shell(layer)


def _behind(layer: Layer, wrapper: _Wrapper, *, is_shell: bool) -> Iterator[Layer]:
    at, why = 1, wrapper.why
    while at < len(layer.guess) and layer.guess[at].startswith("-") and layer.guess[at] != "-":
        word = layer.guess[at]
        at += 1
        if word == "--":
            break
        width = _width(word, wrapper)
        is_strange = any(letter in wrapper.strange for letter in word[1:])
        if (not width or is_strange) and why in ("", GETS_MORE):
            why = f"uses {word} of {layer.name}"
        at += max(width - 1, 0)
    at += wrapper.before
    while at < len(layer.guess) and wrapper.why == _AS_ANOTHER and "=" in layer.guess[at]:
        at += 1
    if any(UNKNOWN in word for word in layer.argv[:at]):
        why = why or "has options that are not fixed"
    if at >= len(layer.argv):
        return
    inner = layer.inner(at, is_shell=is_shell, is_open=layer.is_open or layer.name in ("xargs", "parallel"))
    if layer.name == "parallel":
        inner = inner.inner(0, _first(inner.guess, (":::", "::::", ":::+")))
    yield inner.asking(why) if why else inner


def _width(word: str, wrapper: _Wrapper) -> int:
    """How many words an option takes, 0 for one that is not known."""
    if word.startswith("--"):
        name, equals, _ = word[2:].partition("=")
        if f"{name}=" in wrapper.long:
            return 1 if equals else 2
        return 1 if name in wrapper.long else 0
    for at, letter in enumerate(word[1:], start=1):
        if letter in wrapper.valued:
            return 1 if word[at + 1 :] else 2
        if letter not in wrapper.switches:
            return 0
    return 1


# --- those with rules of their own


def _env(layer: Layer) -> Iterator[Layer]:
    at, why = 1, ""
    while at < len(layer.guess):
        word = layer.guess[at]
        if word.startswith(("-S", "--split-string")):
            yield from _split_string(layer, at)
            return
        if word in ("-i", "-", "--ignore-environment"):
            why = why or "runs with another environment"
        elif word in ("-u", "-C", "--unset", "--chdir"):
            why, at = why or f"uses {word} of env", at + 1
        elif word == "--":
            at += 1
            break
        elif word.startswith("-"):
            why = why or f"uses {word} of env"
        elif "=" not in word:
            break
        elif not is_harmless_setting(layer.argv[at]):
            why = why or f"sets {word.partition('=')[0]}"
        at += 1
    if any(UNKNOWN in word for word in layer.argv[:at]):
        why = why or "has options that are not fixed"
    if at < len(layer.argv):
        inner = layer.inner(at, is_shell=False)
        yield inner.asking(why) if why else inner


def _split_string(layer: Layer, at: int) -> Iterator[Layer]:
    """`env -S 'rm -rf d'`, whose own way of quoting is not looked into."""
    word = layer.guess[at]
    text = word.partition("=")[2] if word.startswith("--") else word[2:]
    rest = layer.guess[at + 1 :]
    if not text and rest:
        text, rest = rest[0], rest[1:]
    try:
        words = (*shlex.split(text), *rest)
    except ValueError:
        words = (*text.split(), *rest)
    while words and "=" in words[0]:
        words = words[1:]
    yield replace(layer, argv=words, guess=words, is_shell=False).asking("uses -S of env")


def _find(layer: Layer) -> Iterator[Layer]:
    for at, word in enumerate(layer.guess):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            end = at + 1 + _first(layer.guess[at + 1 :], (";", "+"))
            inner = layer.inner(at + 1, end, is_shell=False, is_open=True)
            yield inner.asking(GETS_MORE)


def _shell(layer: Layer) -> Iterator[Layer]:
    """`sh -c 'text'`. What else a shell gets is a file, or standard input."""
    at, has_text = 1, False
    while at < len(layer.guess) and layer.guess[at].startswith(("-", "+")):
        word = layer.guess[at]
        if word in ("-", "--"):
            at += 1
            break
        has_text |= _is_command_option(word)
        at += 2 if _SHELL_VALUED.fullmatch(word) else 1
    if not has_text or at >= len(layer.guess):
        return
    why = "" if at == 2 and layer.guess[1] == "-c" else "starts a shell with options"
    text = layer.argv[at]
    if UNKNOWN in text:
        why = why or "hands a shell a text that is not fixed"
        text = layer.guess[at]
    is_alike = layer.name in ("sh", "dash", "ash") and _SAME_IN_EVERY_SHELL.fullmatch(text)
    if layer.name != "bash" and not is_alike:
        why = why or f"hands {layer.name} a text that it may read in its own way"
    inner = replace(layer, argv=(), guess=(), texts=(text.replace(UNKNOWN, ""),), is_shell=False)
    yield inner.asking(why) if why else inner


_SHELL_VALUED = re.compile(r"[-+][a-zA-Z]*[oO]|--rcfile|--init-file")


def _is_command_option(word: str) -> bool:
    return re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word) is not None


def _eval(layer: Layer) -> Iterator[Layer]:
    if not layer.is_shell or len(layer.argv) < 2:
        return
    text = " ".join(layer.argv[1:])
    why = "hands the shell a text that is not fixed" if UNKNOWN in text or layer.is_open else ""
    inner = replace(layer, argv=(), guess=(), texts=(text.replace(UNKNOWN, ""),))
    yield inner.asking(why) if why else inner


def _trap(layer: Layer) -> Iterator[Layer]:
    if len(layer.argv) > 2 and layer.is_shell:
        inner = replace(layer, argv=(), guess=(), texts=(layer.argv[1].replace(UNKNOWN, ""),))
        yield inner.asking("runs something later, wherever the shell is then")


_GIT_LOOKS = frozenset({"--no-pager", "--no-optional-locks", "-P", "--literal-pathspecs", "--no-replace-objects"})
_GIT_VALUED = frozenset(
    {"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--exec-path"}
)
_GIT_LAUNCHES = re.compile(
    r"-O.*|--open-files-in-pager.*|--upload-pack.*|--receive-pack.*|--exec(?:=.*)?|--ext-diff|--textconv|--extcmd.*|"
    r"--output(?:=.*)?|--tool.*|--gpg-sign.*|--show-signature|ext::.*"
)


def _git(layer: Layer) -> Iterator[Layer]:
    """The command without git's own options, which is what rules name; whatever makes git start programs asks."""
    if layer.argv[1:] == ("--version",):
        return
    at, why, folder = 1, "", layer.folder
    texts: list[str] = []
    while at < len(layer.guess) and layer.guess[at].startswith("-"):
        word = layer.guess[at]
        if word == "-C" and at + 1 < len(layer.argv) and not folder:
            folder = layer.argv[at + 1]
        elif word not in _GIT_LOOKS:
            why = why or f"uses {word.partition('=')[0]} of git, which can start programs"
        if word == "-c" and "=!" in (setting := "".join(layer.guess[at + 1 : at + 2])):
            texts.append(setting.partition("=!")[2])
        at += 2 if word in _GIT_VALUED else 1
    rest = layer.guess[at:]
    if launches := [word for word in rest if _GIT_LAUNCHES.fullmatch(word)]:
        why = why or f"uses {launches[0]} of git, which can start programs"
    if rest[:1] in (("difftool",), ("mergetool",), ("filter-branch",)) or rest[:2] in (
        ("bisect", "run"),
        ("submodule", "foreach"),
    ):
        why = why or "uses a git command that starts programs"
    if at == 1 and not why:
        return
    inner = replace(
        layer,
        argv=(layer.argv[0], *layer.argv[at:]),
        guess=(layer.guess[0], *rest),
        folder=folder,
        opaque=layer.opaque or why,
    )
    if at > 1 or not layer.opaque:
        yield inner
    for text in texts:
        yield replace(layer, argv=(), guess=(), texts=(text.replace(UNKNOWN, ""),)).asking(why)


_SPECIAL: Mapping[str, Callable[[Layer], Iterator[Layer]]] = {
    "env": _env,
    "find": _find,
    "eval": _eval,
    "trap": _trap,
    "git": _git,
}


def _first(words: tuple[str, ...], ends: tuple[str, ...]) -> int:
    return next((at for at, word in enumerate(words) if word in ends), len(words))
