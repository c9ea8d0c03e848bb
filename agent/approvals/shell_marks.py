"""What is dangerous about a command, judged by what it runs and never by text that it only mentions (C10-C12).

A mark warns; it gives no permission and takes none, but for the floor: what is on it never runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agent.approvals.protected_files import why_protected
from agent.approvals.shell_floor import absolute, deletes_found, finds_all, is_device, is_essential, is_recursive_call
from agent.approvals.shell_verdict import Mark
from agent.approvals.shell_word import UNKNOWN
from agent.approvals.shell_wrappers import SHELLS
from agent.approvals.shell_writes import DELETERS, sets_program, valued, writes_names, written_by
from agent.tools.base import Workplace

Words = Sequence[str]

PROTECTED = "protected file"

_PROTECTED = re.compile(
    r"^(?:/etc|/boot|/usr|/bin|/sbin|/lib(?:32|64)?|/System|/Library)/"
    r"|/\.(?:ssh|aws|gnupg|kube)(?:/|$)"
    r"|/\.(?:bashrc|bash_profile|profile|zshrc|zprofile|zshenv|login|netrc|npmrc|pypirc|gitconfig)$"
    r"|/(?i:agents|claude|soul)\.md$|/\.cursorrules$"
    r"|/\.config/(?:fish|systemd|autostart)/|/\.git/(?:hooks/|config$)|/\.env(?:\.[a-z]+)?$|/\.hermes-tui/"
)
_SOURCES = frozenset({"curl", "wget", "fetch", "aria2c", "nc", "ncat", "netcat", "ftp", "scp"})
_DECODERS = frozenset(
    {"base64", "base32", "xxd", "openssl", "uudecode", "gunzip", "zcat", "gzip", "xz", "bzip2", "rev", "tr", "od"}
)
_INTERPRETERS = re.compile(
    r"(?:python|perl|ruby|node|php|lua|tclsh|deno|bun|osascript|pwsh|powershell|Rscript|guile)[0-9.]*"
)
_CODE_OPTIONS = re.compile(r"-[a-zA-Z]*[cerEp]|--eval|--print|-Command|-EncodedCommand|eval", re.ASCII)
_SQL = re.compile(
    r"(?is)\b(?:drop\s+(?:table|database|schema)|truncate\s+(?:table\s+)?\w|delete\s+from\s+[\w.\"`]+\s*(?:;|$))"
)
_SQL_CLIENTS = frozenset({"psql", "mysql", "mariadb", "sqlite3", "sqlcmd", "duckdb", "clickhouse-client"})


def marks_of(guess: Words, place: Workplace) -> Iterator[Mark]:
    """What one command does, by its words; a NUL in them stands for what is unknown."""
    if not guess:
        return
    name = os.path.basename(guess[0])  # noqa: PTH119
    if UNKNOWN in guess[0]:
        yield Mark("unknown command", "runs a command whose name is made when it runs")
        return
    yield from _any_command(name, guess[1:])
    if name.startswith(("mkfs", "mke2fs")) or name in ("wipefs", "mkswap", "newfs"):
        yield Mark("disk", "makes a new file system", is_floor=True)
    if name in _DISK_TOOLS:
        yield from _disk_tool(name, guess[1:])
    if check := _CHECKS.get(name):
        yield from check(guess[1:], place)
    for path in written_by(name, guess[1:]):
        yield from marks_of_write(path, place, "deletes" if name in DELETERS else "writes to")


def acts_on_names(name: str) -> bool:
    """Whether each of its words is looked up, since it may be a file that it writes, moves or deletes."""
    return name in _CHECKS or writes_names(name)


def marks_of_write(path: str, place: Workplace, does: str = "writes to") -> Iterator[Mark]:
    """What it means to write to a path, or to delete it."""
    if is_device(path, place):
        yield Mark("disk", f"writes to the device {path}", is_floor=True)
    elif _is_protected(absolute(path, place), place):
        yield Mark(PROTECTED, f"{does} {path.replace(UNKNOWN, '…')}")


def _is_protected(path: str, place: Workplace) -> bool:
    """By its name, and by the file that it leads to."""
    return any(_PROTECTED.search(one) or why_protected(Path(one), place) for one in (path, os.path.realpath(path)))


def marks_of_pipe(sources: Sequence[Words], fed: Words) -> Iterator[Mark]:
    """What it means that a command reads what others print, the nearest one first."""
    name = os.path.basename(fed[0]) if fed else ""  # noqa: PTH119
    if not (name in SHELLS or _INTERPRETERS.fullmatch(name)) or _names_a_script(fed[1:]):
        return
    names = [os.path.basename(words[0]) for words in sources if words]  # noqa: PTH119
    if _SOURCES.intersection(names):
        yield Mark("remote code", f"hands what it downloads to {name}")
    elif _DECODERS.intersection(names):
        yield Mark("decoded code", f"hands decoded text to {name}{_decoded(sources)}")
    else:
        yield Mark("code", f"hands text to {name} to run")


def marks_of_text_run(name: str, guess_of_inside: Sequence[Words]) -> Iterator[Mark]:
    """`eval "$(…)"`, `bash <(…)`, `source <(…)`: what the substitutions in their words are made of."""
    names = {os.path.basename(words[0]) for words in guess_of_inside if words}  # noqa: PTH119
    if names & _SOURCES:
        yield Mark("remote code", f"hands what it downloads to {name}")
    elif names & _DECODERS:
        yield Mark("decoded code", f"hands decoded text to {name}{_decoded(guess_of_inside)}")


def runs_files(program: str) -> bool:
    """Whether a program runs the file that it is given first: a shell, or an interpreter."""
    name = os.path.basename(program)  # noqa: PTH119
    return name in SHELLS or name in ("source", ".") or _INTERPRETERS.fullmatch(name) is not None


def _any_command(name: str, words: Words) -> Iterator[Mark]:
    if _INTERPRETERS.fullmatch(name) and any(_CODE_OPTIONS.fullmatch(word) for word in words[:3]):
        yield Mark("code", f"runs code written into the command with {name}")
    if name in _SQL_CLIENTS and any(_SQL.search(word) for word in words):
        yield Mark("database", "deletes from a database without a condition")
    if name in ("hermes", "hermes-agent") and words[:1] in (("update",), ["update"]):
        yield Mark("hermes", "updates hermes itself")


# --- deleting, modes and owners


def _rm(words: Words, place: Workplace) -> Iterator[Mark]:
    options = _options(words)
    is_recursive = is_recursive_call(words)
    targets = _operands(words)
    if is_recursive and any(is_essential(target, place) for target in targets):
        yield Mark("delete", "deletes the system or the home folder", is_floor=True)
    elif is_recursive:
        yield Mark("delete", "deletes whole folders")
    elif "f" in _letters(options) or "--force" in options:
        yield Mark("delete", "deletes without asking")
    else:
        yield Mark("delete", "deletes files")


def _chmod(words: Words, place: Workplace) -> Iterator[Mark]:
    if any(re.fullmatch(r"0?[0-7]?777|0?666|[ao]*\+[rx]*w[rx]*|a=rwx|o\+w", word) for word in words):
        yield Mark("permissions", "lets everybody change files")
    if any(re.fullmatch(r"[0-7]*[4-7][0-7]{3}|[ugo]*\+[rwx]*s[rwx]*", word) for word in _operands(words)):
        yield Mark("permissions", "lets a program run as its owner")


def _chown(words: Words, place: Workplace) -> Iterator[Mark]:
    if any(word.startswith("root") for word in _operands(words)) or "R" in _letters(_options(words)):
        yield Mark("permissions", "changes who owns files")


def _dd(words: Words, place: Workplace) -> Iterator[Mark]:
    for word in words:
        if word.startswith("of="):
            yield from marks_of_write(word[3:], place)
    yield Mark("disk", "copies raw data with dd")


def _mv(words: Words, place: Workplace) -> Iterator[Mark]:
    moved = _operands(words) if valued(words, "t", "--target-directory") else _operands(words)[:-1]
    if any(is_essential(path, place) for path in moved if "*" not in path):
        yield Mark("delete", "moves the system or the home folder away", is_floor=True)


def _rsync(words: Words, place: Workplace) -> Iterator[Mark]:
    if any(word.startswith("--del") for word in words) and is_essential(words[-1], place):
        yield Mark("delete", "deletes the system or the home folder", is_floor=True)


def _disk_tool(name: str, words: Words) -> Iterator[Mark]:
    """Tools for disks, by what they are told to do to one."""
    if _DISK_TOOLS[name].search(" ".join(words)):
        yield Mark("disk", f"erases or divides a disk with {name}", is_floor=True)


_DISK_TOOLS = {
    "sgdisk": re.compile(r"(?:^| )(?:-[a-zA-Z]*[ZzogdnGlR]\b|--(?:zap|clear|delete|new|mbrtogpt|load-backup))"),
    "sfdisk": re.compile(r"(?:^| )(?:--delete|--wipe\b|-w\b|/dev/\S+$)(?<!-l )"),
    "parted": re.compile(r"\b(?:mklabel|mktable|mkpart|rm|resizepart)\b"),
    "cryptsetup": re.compile(r"\b(?:luksFormat|luksErase|erase|reencrypt)\b"),
    "hdparm": re.compile(r"--(?:security-erase|trim-sector|write-sector|dco-restore|sanitize)"),
    "nvme": re.compile(r"^(?:format|sanitize|delete-ns)\b"),
    "badblocks": re.compile(r"(?:^| )-[a-zA-Z]*w"),
    "diskutil": re.compile(r"(?i)^(?:erase\w*|zerodisk|randomdisk|secureerase|partitiondisk|apfs delete\w+)"),
    "zpool": re.compile(r"^(?:destroy|labelclear|create)\b"),
    **dict.fromkeys(("pvcreate", "pvremove", "vgremove", "lvremove"), re.compile(r"\w")),
}


def _deletes(why: str) -> Callable[[Words, Workplace], Iterator[Mark]]:
    def check(words: Words, place: Workplace) -> Iterator[Mark]:
        yield Mark("delete", why)

    return check


def _find(words: Words, place: Workplace) -> Iterator[Mark]:
    if deletes_found(words) and any(is_essential(folder, place) for folder in finds_all(words)):
        yield Mark("delete", "deletes the system or the home folder", is_floor=True)
    elif "-delete" in words:
        yield Mark("delete", "deletes what it finds")


# --- processes, services, the machine


def _kill(words: Words, place: Workplace) -> Iterator[Mark]:
    if "-1" in words[1:] or list(words) == ["-1"]:
        yield Mark("processes", "ends every process there is", is_floor=True)
    if any("hermes" in word for word in words):
        yield Mark("hermes", "ends hermes itself")


def _kill_all(words: Words, place: Workplace) -> Iterator[Mark]:
    yield Mark("processes", "ends every process there is", is_floor=True)


def _kill_by_name(words: Words, place: Workplace) -> Iterator[Mark]:
    if any(re.fullmatch(r"\^?\.?[*+]?\$?", word) for word in _operands(words)):
        yield from _kill_all(words, place)
    yield Mark("hermes" if any("hermes" in word for word in words) else "processes", "ends processes by their name")


def _shutdown(words: Words, place: Workplace) -> Iterator[Mark]:
    yield Mark("machine", "stops the machine", is_floor=True)


def _init(words: Words, place: Workplace) -> Iterator[Mark]:
    if words[:1] and words[0] in ("0", "6"):
        yield from _shutdown(words, place)


def _systemctl(words: Words, place: Workplace) -> Iterator[Mark]:
    verbs = _operands(words)
    if (verbs and verbs[0] in ("poweroff", "reboot", "halt", "kexec", "emergency", "rescue", "isolate")) or any(
        re.fullmatch(r"(?:poweroff|reboot|halt|kexec|shutdown|emergency|rescue)\.target", verb) for verb in verbs
    ):
        yield from _shutdown(words, place)
    elif verbs and verbs[0] in ("stop", "restart", "disable", "mask", "kill"):
        yield Mark("service", "stops or restarts a service")


def _service(words: Words, place: Workplace) -> Iterator[Mark]:
    if any(word in ("stop", "restart", "unload", "bootout", "remove") for word in words):
        yield Mark("service", "stops or restarts a service")


def _crontab(words: Words, place: Workplace) -> Iterator[Mark]:
    if "r" in _letters(_options(words)):
        yield Mark("delete", "deletes all planned jobs")


def _as_root(words: Words, place: Workplace) -> Iterator[Mark]:
    yield Mark("root", "runs as another user")


# --- git and docker


def _git(words: Words, place: Workplace) -> Iterator[Mark]:
    options = _options(words)
    letters = _letters(options)
    if name := sets_program(words):
        yield Mark(PROTECTED, f"sets {name.replace(UNKNOWN, '…')} of git, which starts programs")
    match _operands(words)[:2]:
        case ["reset", *_] if "--hard" in options:
            yield Mark("git", "throws away changes that are not committed")
        case ["push", *_] if "f" in letters or any(
            word.startswith(("--force", "--mirror", "--delete", "+")) for word in words
        ):
            yield Mark("git", "rewrites or deletes what others have")
        case ["clean", *_] if "f" in letters or "--force" in options:
            yield Mark("git", "deletes files that git does not know")
        case ["branch", *_] if "D" in letters or ("--delete" in options and "--force" in options):
            yield Mark("git", "deletes a branch that may not be merged")
        case ["stash", "drop" | "clear"]:
            yield Mark("git", "throws away stashed changes")
        case ["checkout" | "restore", *_] if "." in words or "--" in words:
            yield Mark("git", "throws away changes that are not committed")
        case ["filter-branch" | "filter-repo", *_]:
            yield Mark("git", "rewrites the history")
        case _:
            return


def _docker(words: Words, place: Workplace) -> Iterator[Mark]:
    named = set(_operands(words)[:3])
    if named & {"rm", "rmi", "kill", "stop", "restart", "prune", "down"}:
        yield Mark("containers", "stops or deletes containers, images or volumes")


_CHECKS: dict[str, Callable[[Words, Workplace], Iterator[Mark]]] = {
    "rm": _rm,
    "mv": _mv,
    "rsync": _rsync,
    "rmdir": _deletes("deletes folders"),
    "unlink": _deletes("deletes a file"),
    "shred": _deletes("destroys files"),
    "srm": _deletes("destroys files"),
    "Remove-Item": _deletes("deletes files"),
    "find": _find,
    "chmod": _chmod,
    "chown": _chown,
    "dd": _dd,
    "kill": _kill,
    "pkill": _kill_by_name,
    "killall": _kill_by_name,
    "killall5": _kill_all,
    "loginctl": _systemctl,
    "shutdown": _shutdown,
    "reboot": _shutdown,
    "halt": _shutdown,
    "poweroff": _shutdown,
    "init": _init,
    "telinit": _init,
    "systemctl": _systemctl,
    "service": _service,
    "launchctl": _service,
    "crontab": _crontab,
    "sudo": _as_root,
    "doas": _as_root,
    "su": _as_root,
    "pkexec": _as_root,
    "git": _git,
    "docker": _docker,
    "podman": _docker,
    "docker-compose": _docker,
}


def _options(words: Words) -> list[str]:
    return [word for word in words if word.startswith("-")]


def _operands(words: Words) -> list[str]:
    return [word for word in words if not word.startswith("-")]


def _letters(options: Words) -> str:
    return "".join(option[1:] for option in options if not option.startswith("--"))


def mark_of_running(before: Sequence[Words], run: Words) -> Iterator[Mark]:
    """`chmod +x f` with `./f` behind it."""
    for words in before:
        if words[:1] == ("chmod",) and run and os.path.normpath(run[0]) in map(os.path.normpath, words[1:]):
            yield Mark("code", f"makes {run[0]} a program and runs it")


def _names_a_script(words: Words) -> bool:
    return any(not word.startswith("-") for word in words) and "-s" not in words


_PRINTABLE = re.compile(r"[\t\n -~]{1,200}")


def _decoded(sources: Sequence[Words]) -> str:
    """The text itself, where it is written out, short, and shows as it is (C10)."""
    import base64
    import binascii

    for words in sources:
        if not words or os.path.basename(words[0]) not in ("echo", "printf", "<<<"):  # noqa: PTH119
            continue
        for word in words[1:]:
            try:
                text = base64.b64decode(word.strip(), validate=True).decode("ascii")
            except (binascii.Error, ValueError):
                continue
            if _PRINTABLE.fullmatch(text):
                return f": {text.strip()}"
    return ""
