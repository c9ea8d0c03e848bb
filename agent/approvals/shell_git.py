"""`git`: the verbs that only read, and whether the repository's own settings would start programs (C05)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from msgspec.structs import replace

from agent.approvals.git_repository import why_repository_acts
from agent.approvals.shell_options import Call, Form, NotThisForm, Operands, form, read_call
from agent.approvals.shell_paths import Whereabouts, is_secret

_TEXT, _NONE = Operands.TEXT, Operands.NONE

_LOOK = (
    "oneline graph decorate? no-decorate all branches? tags? remotes? stat? shortstat numstat name-only name-status patch "
    "no-patch raw summary abbrev? abbrev-commit no-abbrev-commit max-count= skip= since= after= until= before= author= "
    "committer= grep= invert-grep regexp-ignore-case fixed-strings extended-regexp perl-regexp merges no-merges "
    "first-parent reverse date-order author-date-order topo-order date= relative-date format= pretty? follow no-renames "
    "find-renames? cached staged color? no-color word-diff? color-words? unified? ignore-all-space ignore-space-change "
    "ignore-blank-lines diff-filter= exit-code quiet minimal patience histogram text full-index binary merge-base "
    "no-ext-diff no-textconv left-right cherry-pick cherry boundary simplify-by-decoration full-history ancestry-path "
    "no-walk? count parents children objects left-only right-only function-context pickaxe-regex pickaxe-all"
)
_LOG = form("pqurRszwbicmEFP", "nSGL", _LOOK, operands=_TEXT, counts=True, numbered="UMC")
VERBS: dict[str, Form] = {
    "status": form(
        "sbzvunoal", "", "short branch porcelain? long verbose untracked-files? ignored? renames no-renames column?"
    ),
    "log": _LOG,
    "show": _LOG,
    "diff": _LOG,
    "shortlog": form("nsec", "", "numbered summary email all no-merges since= until=", operands=_TEXT),
    "rev-list": _LOG,
    "rev-parse": form(
        "q",
        "",
        "verify quiet short? abbrev-ref? symbolic-full-name show-toplevel show-prefix show-cdup git-dir git-common-dir "
        "is-inside-work-tree is-bare-repository is-inside-git-dir absolute-git-dir all branches? tags? remotes?",
        operands=_TEXT,
    ),
    "describe": form("", "", "tags all always long abbrev= match= exclude= contains exact-match dirty? first-parent"),
    "ls-files": form(
        "cdomiuzstvfk", "x", "cached deleted others modified ignored stage unmerged exclude-standard full-name"
    ),
    "ls-tree": form("drtlz", "", "long name-only name-status full-name full-tree object-only abbrev?"),
    "blame": form("lstfnecwpM", "L", "porcelain line-porcelain show-name show-number show-email root date="),
    "merge-base": form("a", "", "all is-ancestor octopus fork-point", operands=_TEXT),
    "name-rev": form("", "", "name-only tags all always", operands=_TEXT),
    "show-ref": form("dqs", "", "heads tags branches head hash? abbrev? verify quiet dereference", operands=_TEXT),
    "for-each-ref": form("", "", "format= sort= count= contains? merged? no-merged? points-at=", operands=_TEXT),
    "count-objects": form("vH", "", "verbose human-readable", operands=_NONE, most=0),
    "cat-file": form("ptse", operands=_TEXT),
    "grep": form(
        "niIwvhHEFGPlLcoWpqa",
        "eABCm",
        "line-number ignore-case word-regexp invert-match extended-regexp fixed-strings basic-regexp perl-regexp "
        "files-with-matches files-without-match count only-matching show-function function-context quiet all-match "
        "cached name-only color? no-color column heading break and or not text max-depth= after-context= before-context= "
        "context=",
        operands=_TEXT,
        counts=True,
    ),
    "branch": form(
        "arvqi", "", "all remotes list verbose show-current color? no-color sort= format= contains? merged? no-merged?"
    ),
    "tag": form("lni", "", "list sort= format= contains? merged? no-merged? points-at="),
    "remote": form("v", "", "verbose"),
    "stash": form("", "", "oneline", operands=_TEXT),
    "reflog": form("n", "", "oneline all date= max-count=", operands=_TEXT, counts=True),
    "worktree": form("v", "", "porcelain verbose", operands=_TEXT),
}
# Verbs whose own words would change something: they may have none, or the ones named.
_WORDS: dict[str, frozenset[tuple[str, ...]]] = {
    "branch": frozenset({()}),
    "tag": frozenset({()}),
    "remote": frozenset({()}),
    "stash": frozenset({("list",), ("show",)}),
    "worktree": frozenset({("list",)}),
    "reflog": frozenset({(), ("show",)}),
}
# Verbs that show what files hold, or held.
_SHOWING = frozenset({"log", "show", "diff", "rev-list", "blame", "cat-file", "grep"})
_BETWEEN = re.compile(r"[:!^()]")  # what stands around a path in REVISION:PATH, :(magic)PATH, :!PATH and -L 1,5:PATH
_GLOB = re.compile(r"[*?\[\]\\/]")
_LISTING = ("--list", "-l", "--contains", "--merged", "--no-merged", "--points-at")
_WITHOUT_MEANING = frozenset({"--no-pager", "--no-optional-locks", "-P", "--literal-pathspecs"})


_FORMS = {verb: replace(allowed, joined=True) for verb, allowed in VERBS.items()}


def why_not_git(words: Sequence[str], where: Whereabouts) -> str:
    """Why a git command may do more than to read in the workspace, "" where it cannot. Completes "it ..."."""
    if list(words) in (["--version"], ["version"]):
        return ""
    at = 0
    while at < len(words) and words[at] in _WITHOUT_MEANING:
        at += 1
    if at >= len(words) or words[at] not in VERBS:
        return _about_verb(words[at:])
    return _why_not_verb(words[at], words[at + 1 :], where) or why_repository_acts(where)


def _about_verb(rest: Sequence[str]) -> str:
    return f"uses git {rest[0]}, which is not known to only read" if rest else "names no git command"


def _why_not_verb(verb: str, words: Sequence[str], where: Whereabouts) -> str:
    try:
        call = read_call(words, _FORMS[verb])
    except NotThisForm as error:
        return str(error)
    shaped = [value for name, value in call.options if name in ("--format", "--pretty", "--sort")]
    if any("%G" in value or "sig" in value for value in shaped):
        return "checks signatures, which starts a program"
    if verb in _WORDS and call.operands not in _WORDS[verb] and not (verb in ("branch", "tag") and call.has(*_LISTING)):
        return f"uses git {verb} with {' '.join(call.operands)}"
    if verb in _SHOWING and (why := _why_secret(_named(verb, call), where)):
        return why
    # Revisions are no paths; what is one and leaves the repository would be read as a file.
    paths = [word for word in call.operands if _is_path(word, where)]
    return next((why for path in [".", *paths] if (why := where.why_not(path))), "")


def _is_path(word: str, where: Whereabouts) -> bool:
    return word.startswith(("/", "../")) or any(os.path.lexists(folder / word) for folder in where.folders)


def _named(verb: str, call: Call) -> list[str]:
    """The words that may name a file, and the lines of one."""
    is_pattern_first = verb == "grep" and not call.has("-e")
    return [*(value for name, value in call.options if name == "-L"), *call.operands[is_pattern_first:]]


def _why_secret(words: Sequence[str], where: Whereabouts) -> str:
    """Git shows files that are on the disk no more, or only under another spelling: the names are all there is to judge."""
    for part in (part for word in words for part in _BETWEEN.split(word)):
        if is_secret(part):
            return where.why_not(part) or f"reads what looks like a secret ({part})"
        if _may_be_secret(part):
            return f"shows every file that matches {part}, which may be a secret"
    return ""


def _may_be_secret(pattern: str) -> bool:
    """A glob with an end that only sources have matches no secret, unless it names one."""
    end = _GLOB.split(pattern)[-1]
    return any(char in pattern for char in "*?[\\") and is_secret(f"secrets.{end}")
