"""The closed table of commands that only read, with the forms in which they do. Whatever is not here asks."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from agent.approvals.shell_find import why_not_find
from agent.approvals.shell_git import why_not_git
from agent.approvals.shell_options import Form, Operands, form, why_not_form
from agent.approvals.shell_paths import Whereabouts
from agent.approvals.shell_word import word_set

Check = Callable[[Sequence[str], Whereabouts], str]

_TEXT, _NONE, _PATTERN = Operands.TEXT, Operands.NONE, Operands.PATTERN_THEN_PATHS

# Programs, by the options that are known to only read. Left out on purpose, among others: everything that follows
# symlinks into other folders (-L, -R of grep), names files in a file (--files0-from), starts helpers (--pre,
# --compress-program, -z), waits for ever (-f) or writes (-o).
PROGRAMS: dict[str, Form] = {
    "ls": form(
        "aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1",
        "",
        "all almost-all color? directory classify? file-type human-readable inode size reverse recursive sort= time= "
        "time-style= group-directories-first full-time numeric-uid-gid no-group si ignore= hide= width=",
    ),
    "cat": form(
        "AbeEnstTuv", long="show-all number number-nonblank show-ends show-tabs show-nonprinting squeeze-blank"
    ),
    "head": form("qvz", "nc", "lines= bytes= quiet verbose", counts=True),
    "tail": form("qvz", "nc", "lines= bytes= quiet verbose", counts=True),
    "wc": form("clmwL", long="bytes chars lines words max-line-length"),
    "nl": form("", "bvwsn", "body-numbering= number-width= number-separator="),
    "tac": form(),
    "rev": form(),
    "fold": form("bs", "w", "width= spaces bytes"),
    "grep": form(
        "EFGPiIvwxcoqsnHhbralzTyUZ",
        "efmABCdD",
        "extended-regexp fixed-strings basic-regexp perl-regexp regexp= ignore-case invert-match word-regexp line-regexp "
        "count color? colour? files-with-matches files-without-match max-count= only-matching quiet silent no-messages "
        "line-number with-filename no-filename null text binary-files= include= exclude= exclude-dir= recursive "
        "after-context= before-context= context= file=",
        "f file",
        _PATTERN,
        counts=True,
        no_pattern_with="-e -f --regexp --file",
    ),
    "rg": form(
        "inNwxvclFUSsHIo0qupP.",
        "eABCmgtTdMEj",
        "regexp= ignore-case smart-case case-sensitive line-number no-line-number word-regexp line-regexp invert-match "
        "count count-matches files-with-matches files-without-match fixed-strings multiline multiline-dotall "
        "with-filename no-filename only-matching null quiet files hidden no-ignore no-ignore-vcs glob= iglob= type= "
        "type-not= max-depth= max-count= max-columns= max-filesize= after-context= before-context= context= color= "
        "heading no-heading json stats sort= sortr= type-list column vimgrep trim pcre2 passthru unrestricted text "
        "no-messages no-config version",
        "",
        _PATTERN,
        no_pattern_with="-e --regexp --files --type-list",
    ),
    "stat": form("tf", "c", "format= printf= terse file-system"),
    "file": form("bihkN0E", long="brief mime mime-type mime-encoding"),
    "which": form("as", operands=_TEXT),
    "uname": form("asnrvmpio", operands=_NONE, most=0),
    "whoami": form(operands=_NONE, most=0),
    "id": form("ugGnrz", operands=_TEXT),
    "groups": form(operands=_TEXT),
    "nproc": form(long="all", operands=_NONE, most=0),
    "arch": form(operands=_NONE, most=0),
    "uptime": form("ps", operands=_NONE, most=0),
    "free": form("bkmghtw", operands=_NONE, most=0),
    "hostname": form(operands=_NONE, most=0),
    "sleep": form(operands=_TEXT),
    "seq": form("w", "fs", "equal-width separator=", operands=_TEXT),
    "sort": form(
        "bdfghiMnRrVcCmsuz",
        "kt",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort numeric-sort "
        "random-sort reverse version-sort check? merge stable unique zero-terminated key= field-separator=",
    ),
    "uniq": form("cdDiuz", "fsw", "count repeated unique ignore-case skip-fields= skip-chars= check-chars=", most=1),
    "cut": form(
        "sz",
        "bcdf",
        "bytes= characters= delimiter= fields= only-delimited complement output-delimiter= zero-terminated",
    ),
    "tr": form("cCdst", long="complement delete squeeze-repeats truncate-set1", operands=_TEXT),
    "basename": form("az", "s", "multiple suffix= zero", operands=_TEXT),
    "dirname": form("z", long="zero", operands=_TEXT),
    "realpath": form("emqszPL", long="canonicalize-existing canonicalize-missing relative-to= relative-base="),
    "readlink": form("fenmqsvz", long="canonicalize no-newline"),
    "du": form(
        "abchkmsSxt0", "d", "all bytes total human-readable max-depth= summarize apparent-size one-file-system exclude="
    ),
    "df": form("ahHiklmPT", "tx", "all human-readable si inodes local type= exclude-type= print-type total"),
    "diff": form(
        "qsuceyiwbBtTNaE",
        "UCWxFI",
        "brief report-identical-files unified? context? side-by-side ignore-case ignore-all-space ignore-space-change "
        "ignore-blank-lines text new-file exclude= color? width= minimal no-dereference label= strip-trailing-cr "
        "suppress-common-lines",
    ),
    "cmp": form("bls", "in", "print-bytes verbose silent quiet ignore-initial= bytes="),
    "comm": form("123z", long="check-order nocheck-order output-delimiter= total"),
    "paste": form("sz", "d", "delimiters= serial"),
    "od": form("abcdfilosxv", "AjNt", "address-radix= skip-bytes= read-bytes= format="),
    "md5sum": form("btz", long="binary text tag zero"),
    "sha1sum": form("btz", long="binary text tag zero"),
    "sha256sum": form("btz", long="binary text tag zero"),
    "sha512sum": form("btz", long="binary text tag zero"),
    "cksum": form(),
    "tree": form("adfpshuDiCnFNQv", "LPI", "dirsfirst noreport prune gitignore"),
    "column": form("t", "s", "table separator="),
}

# What bash does itself: no program is looked up.
_FREE = frozenset({"echo", "true", "false", ":"})
_SETS = re.compile(r"[-+](?:[euo]|eu|ue|euo|ueo|eo|uo)")
_FORMAT_INTO = re.compile(r"%[^a-zA-Z%]*[hlLjztq]*n")
_UNARY = word_set("-e -f -d -r -w -x -s -L -h -n -z -b -c -p -S -g -u -k -O -G -N -t -a -o")
_OF_TWO_FILES = word_set("-nt -ot -ef")
_OF_FILES = word_set("-e -f -d -r -w -x -s -L -h -b -c -p -S -g -u -k -O -G -N -a") | _OF_TWO_FILES
_BINARY = word_set("= == != -eq -ne -lt -le -gt -ge -nt -ot -ef < > ! ( ) ] -a -o")


def _why_not_printf(words: Sequence[str], _: Whereabouts) -> str:
    """`%n` and -v set a variable, whose name may be an array with a command in its subscript."""
    if words and words[0] == "--":
        words = words[1:]
    if not words or words[0].startswith("-"):
        return "uses an option of printf"
    return "sets a variable" if _FORMAT_INTO.search(words[0]) else ""


def _why_not_test(words: Sequence[str], where: Whereabouts) -> str:
    """`test -v 'a[$(x)]'` runs x; `test -e path` tells whether there is one."""
    strange = [word for word in words if word.startswith("-") and word not in _UNARY | _BINARY and not _is_number(word)]
    if strange:
        return f"uses {strange[0]}"
    asked = [word for at, word in enumerate(words) if _follows(words, at, *_OF_FILES)]
    asked += [word for at, word in enumerate(words) if words[at + 1 : at + 2] and words[at + 1] in _OF_TWO_FILES]
    return next((why for path in asked if (why := where.why_not(path, is_read=False))), "")


def _why_not_pwd(words: Sequence[str], _: Whereabouts) -> str:
    return "" if all(word in ("-L", "-P") for word in words) else "uses an option of pwd"


def _why_not_exit(words: Sequence[str], _: Whereabouts) -> str:
    return "" if not words or (len(words) == 1 and words[0].isdecimal()) else "is no plain exit"


def _why_not_set(words: Sequence[str], _: Whereabouts) -> str:
    fits = words and all(_SETS.fullmatch(word) or word in ("pipefail", "errexit", "nounset") for word in words)
    return "" if fits else "changes how the shell works"


def _why_not_names(words: Sequence[str], _: Whereabouts) -> str:
    """`type` and `help`: options, then names."""
    return "" if all(re.fullmatch(r"-[aptfPdms]+|[\w.+@:\[-]+", word) for word in words) else "asks for more than names"


def _why_not_cd(words: Sequence[str], where: Whereabouts) -> str:
    if where.place.environ.get("CDPATH"):
        return "changes to a folder that CDPATH decides on"
    targets = [word for word in words if word not in ("-L", "-P", "--")]
    if len(targets) != 1 or targets[0].startswith("-") or not targets[0]:
        return "changes to a folder that is not named"
    return where.why_not(targets[0], is_read=False)


def _why_not_asked(_: Sequence[str], __: Whereabouts) -> str:
    return "sets a variable"


BUILTINS: dict[str, Check] = {
    "printf": _why_not_printf,
    "test": _why_not_test,
    "[": _why_not_test,
    "pwd": _why_not_pwd,
    "exit": _why_not_exit,
    "wait": _why_not_exit,
    "set": _why_not_set,
    "type": _why_not_names,
    "help": _why_not_names,
    "cd": _why_not_cd,
    "read": _why_not_asked,
}


def _why_not_env(words: Sequence[str], _: Whereabouts) -> str:
    """Bare, it prints the environment."""
    return "does more than to print the environment" if words else ""


def _why_not_printenv(words: Sequence[str], _: Whereabouts) -> str:
    return "" if all(re.fullmatch(r"\w+", word) for word in words) else "does more than to print the environment"


def _why_not_date(words: Sequence[str], where: Whereabouts) -> str:
    """-s and a bare number set the clock, -f reads a file."""
    if any(
        not word.startswith(("+", "-")) and not _follows(words, at, "-d", "--date") for at, word in enumerate(words)
    ):
        return "may set the clock"
    return why_not_form(words, _DATE, where)


_DATE = form("uRI", "d", "utc universal date= iso-8601? rfc-3339= rfc-email", operands=_TEXT)


def _why_not_ps(words: Sequence[str], _: Whereabouts) -> str:
    """Only these: an `e` among the old options shows the environment of other programs."""
    known = ("", "aux", "ax", "-ef", "-e", "-A", "-f", "-eF", "-aux", "auxf", "axf", "-ejH", "axjf")
    if " ".join(words) in known:
        return ""
    fields = re.fullmatch(
        r"(?:-[eA] )?-(?:[eA])?o [a-z,%=]+(?: -p [0-9,]+)?|-f?p [0-9,]+(?: -o [a-z,%=]+)?", " ".join(words)
    )
    return "" if fields and "env" not in " ".join(words) else "shows more of processes than is known to be harmless"


_SED_FORMS = re.compile(
    r"(?:\d+|\$)?(?:,(?:\d+|\$))?[pdq=]|/[\w .:#@=-]+/[pd]|s/[^/\\\n\[]*/[^/\\\n]*/[gIp0-9]*|s\|[^|\\\n\[]*\|[^|\\\n]*\|[gIp0-9]*"
)


def _why_not_sed(words: Sequence[str], where: Whereabouts) -> str:
    """One plain script of a print, a delete or a substitution: `w`, `r` and `e` act, and more flags mean them."""
    rest = list(words)
    while rest and rest[0] in ("-n", "-E", "-r", "-s", "-u", "--quiet", "-nE", "-nr"):
        rest.pop(0)
    if len(rest) > 1 and rest[0] == "-e":
        rest.pop(0)
    if not rest or any(word.startswith("-") and word != "-" for word in rest):
        return "uses an option of sed"
    if not all(_SED_FORMS.fullmatch(piece) for piece in rest[0].split(";")):
        return "runs a sed script that is not one of the plain ones"
    return next((why for path in rest[1:] if (why := where.why_not(path))), "")


_JQ = form(
    "rcnesSMCaj",
    "",
    "raw-output compact-output null-input exit-status slurp sort-keys monochrome-output tab",
    "",
    _PATTERN,
)


def _why_not_jq(words: Sequence[str], where: Whereabouts) -> str:
    """A filter that imports reads files of its own choice."""
    if "--" in words or any(re.search("import|include|modulemeta", word) for word in words):
        return "imports what it does not name"
    return why_not_form(_without_args(words), _JQ, where)


def _without_args(words: Sequence[str]) -> list[str]:
    kept: list[str] = []
    at = 0
    while at < len(words):
        if words[at] in ("--arg", "--argjson"):
            at += 3
            continue
        kept.append(words[at])
        at += 1
    return kept


def _why_not_rg(words: Sequence[str], where: Whereabouts) -> str:
    config = where.place.environ.get("RIPGREP_CONFIG_PATH")
    if config and "--no-config" not in words:
        return "uses the ripgrep configuration that the environment names"
    return why_not_form(words, PROGRAMS["rg"], where)


def _why_not_diff(words: Sequence[str], where: Whereabouts) -> str:
    """Of two folders, it reads what their links lead to."""
    if any(os.path.isdir(folder / word) for word in words for folder in where.folders):  # noqa: PTH112 - never raises
        return "compares folders"
    return why_not_form(words, PROGRAMS["diff"], where)


def _why_not_interpreter(words: Sequence[str], _: Whereabouts) -> str:
    return "" if list(words) == ["--version"] else "runs code"


_CHECKED: dict[str, Check] = {
    "env": _why_not_env,
    "printenv": _why_not_printenv,
    "date": _why_not_date,
    "ps": _why_not_ps,
    "sed": _why_not_sed,
    "jq": _why_not_jq,
    "rg": _why_not_rg,
    "find": why_not_find,
    "git": why_not_git,
    "diff": _why_not_diff,
    "node": _why_not_interpreter,
    "python": _why_not_interpreter,
    "python3": _why_not_interpreter,
}


def is_known(name: str) -> bool:
    """Whether there is anything that this command may do unasked."""
    return name in _FREE or name in BUILTINS or name in _CHECKED or name in PROGRAMS


def takes_anything(name: str) -> bool:
    """Whether no argument whatever makes it do more than to print."""
    return name in _FREE


def takes_names(name: str) -> bool:
    """Whether it makes no difference in which order names of files stand behind it."""
    return name in PROGRAMS or name in ("find", "diff", "test", "[")


def is_builtin(name: str) -> bool:
    """Whether bash does it itself, where no wrapper stands in front."""
    return name in _FREE or name in BUILTINS


def why_not_read_only(argv: Sequence[str], where: Whereabouts) -> str:
    """Why a command may do more than to read in the workspace, "" where it cannot. Completes "it ..."."""
    name, *words = argv
    if name in _FREE:
        return ""
    if check := BUILTINS.get(name) or _CHECKED.get(name):
        return check(words, where)
    if allowed := PROGRAMS.get(name):
        return why_not_form(words, allowed, where)
    return f"runs {name}, which is not known to only read"


def _follows(words: Sequence[str], at: int, *names: str) -> bool:
    return at > 0 and words[at - 1] in names


def _is_number(word: str) -> bool:
    return word.removeprefix("-").isdecimal()
