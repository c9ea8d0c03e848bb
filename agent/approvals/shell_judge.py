"""From a bash command line to a verdict as data: every command in it by its words, every redirection by its target.

Nothing is run. Files are looked at (where links lead, what PATH finds, the settings of a git repository), so this
belongs in a thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

from msgspec.structs import replace

from agent.approvals.shell_line_marks import floor_among, floor_in, is_bomb, marks_among, marks_of_command
from agent.approvals.shell_marks import PROTECTED, acts_on_names
from agent.approvals.shell_paths import Whereabouts
from agent.approvals.shell_programs import Programs
from agent.approvals.shell_read_only import is_builtin, is_known, takes_anything, takes_names, why_not_read_only
from agent.approvals.shell_reading import Command, Reading, read_shell
from agent.approvals.shell_rules import NO_RULES, Rules
from agent.approvals.shell_seen import Seen, folder_named, guess_of, see
from agent.approvals.shell_surroundings import is_free_name, why_surrounded
from agent.approvals.shell_unseen import Surroundings, Variables, around_text, why_unseen, why_unseen_in
from agent.approvals.shell_verdict import (
    FLOOR,
    GUARDED,
    NO_RULE,
    READ_ONLY,
    SETTING,
    UNJUDGED,
    UNSEEN,
    WRAPPED,
    CommandVerdict,
    Decision,
    Mark,
    Mode,
    Part,
    strictest,
)
from agent.approvals.shell_word import UNKNOWN, Unreadable, word_set
from agent.approvals.shell_wrappers import GETS_MORE, SHELLS, Layer, reads_as_written
from agent.tools.base import Workplace

_DEEPEST = 4
MOST_WORDS = 2_000  # of one command
# What changes the shell itself, so that the words behind it mean something else. No rule covers these.
_ACT_ON_SHELL = word_set(
    "alias unalias hash enable shopt set export declare typeset local readonly source . eval trap exec coproc "
    "unset read mapfile readarray let builtin pushd popd bind complete compgen compopt fc history suspend "
    "wait return umask"
)
_OWN_WRAPPERS = frozenset(("time", "command", "builtin", "exec", "eval", "trap"))
# Whose first word says what to do with the others.
_TAKE_FIRST = frozenset(("sed", "jq", "printf", "git"))
_MOVES = frozenset(("cd", "pushd", "popd", "eval", "source", "."))


def judge_command(text: str, place: Workplace, rules: Rules = NO_RULES, mode: Mode = Mode.ASK) -> CommandVerdict:
    """What a command line may do in this place, under these rules."""
    judgement = _Judgement(place, rules, mode)
    parts = tuple(judgement.line(text))
    return CommandVerdict(strictest(parts), parts, tuple(dict.fromkeys(judgement.marks)))


class _Judgement:
    """Goes through a line once, in the order of the text, since a `cd` counts for what stands behind it."""

    def __init__(self, place: Workplace, rules: Rules, mode: Mode) -> None:
        self.place, self.rules, self.mode = place, rules, mode
        self.where, self.programs = Whereabouts(place), Programs(place)
        self.marks: list[Mark] = []
        self._home = place.environ.get("HOME", "")
        self._depth = 0
        self._around = Surroundings()

    def line(self, text: str) -> Iterator[Part]:
        """The parts of a text, which may be one that another command hands to a shell."""
        try:
            if self._depth > _DEEPEST:
                raise Unreadable("nests deeper than can be judged")
            if not text.isascii() and not reads_as_written(self.place.environ):
                raise Unreadable("holds characters that are others in the locale of the shell")
            reading = read_shell(text, self._home)
        except Unreadable as error:
            yield self._unread(text, str(error))
            return
        if any(command.repeats and self._moves(command) for command in reading.commands):
            self.where.is_lost = self.where.is_astray = True
        if not reading.commands and not reading.oddities:
            yield self._settled(Part(text, None, Decision.ASK, UNJUDGED, "holds no command"))
        yield from self._commands(reading)
        for odd in reading.oddities:
            yield self._unread(reading.text(odd.start, odd.end), odd.why)
        if is_bomb(reading, self.where):
            self.marks.append(Mark("fork bomb", "starts itself over and over", is_floor=True))
            yield Part(text, None, Decision.NEVER, FLOOR, "starts itself over and over")

    def _commands(self, reading: Reading) -> Iterator[Part]:
        seen: list[Seen] = []
        variables = Variables(reading, self._around)
        for command in reading.commands:
            one = see(command, reading, self.where)
            seen.append(one)
            if len(one.layers[0].argv) > MOST_WORDS and any(acts_on_names(layer.name) for layer in one.layers):
                yield self._too_long(one)
                continue
            self.marks += marks_among(seen)
            floor = next(floor_among(seen, self.where), None)
            is_yolo = self.mode is Mode.YOLO
            unseen = why_unseen(seen, reading, variables, self.where, self._around) if is_yolo else ""
            yield from self._parts(one, why_surrounded(command, reading, self.where), floor, unseen)

    def _too_long(self, one: Seen) -> Part:
        """What so many words reach is not looked into, so that no mode and no rule allows it."""
        self._follow(one)
        forms = [form for layer in one.layers for form in (layer.argv, layer.guess) if form]
        if rule := self.rules.denying(forms):
            return Part(one.text, None, Decision.DENY, f"deny {rule}", "is forbidden by a rule")
        return self._settled(Part(one.text, None, Decision.ASK, UNSEEN, f"has more than {MOST_WORDS:,} words"))

    def _unread(self, text: str, why: str) -> Part:
        """In yolo nobody is asked, so that the floor has to be found in what cannot be read, too."""
        if self.mode is Mode.YOLO and (floor := next(floor_in(text, self.where), None)):
            self.marks.append(floor)
            return Part(text, None, Decision.NEVER, FLOOR, floor.why)
        if self.mode is Mode.YOLO and (unseen := why_unseen_in(text, self.where)):
            return Part(text, None, Decision.ASK, UNSEEN, unseen)
        return self._settled(Part(text, None, Decision.ASK, UNJUDGED, why))

    # --- one command

    def _parts(self, one: Seen, because: tuple[str, str] | None, handed: Mark | None, unseen: str) -> Iterator[Part]:
        marks = [*marks_of_command(one, self.where), *([handed] if handed else [])]
        self.marks += marks
        if floor := next((mark for mark in marks if mark.is_floor), None):
            yield Part(one.text, one.shown, Decision.NEVER, FLOOR, floor.why)
        elif one.command.words and one.text.startswith("for ") and one.last.name == "for":
            yield from self._for(one, because)
        else:
            inner = [part for layer in one.layers for text in layer.texts for part in self._inside(text, one)]
            judged = self._judged(one, because)
            if unseen and judged.verdict is Decision.ASK:
                judged = replace(judged, rule=UNSEEN, why=unseen)
            yield self._settled(_guarded(judged, marks, reads_secret=self.where.take_secrets()))
            yield from inner
            self._follow(one)

    def _judged(self, one: Seen, because: tuple[str, str] | None) -> Part:
        """By the strictest rule that has something to say of any form of it."""
        part = Part(one.text, None if one.has_globs else one.shown, Decision.ASK, NO_RULE, "", one.last.is_open)
        forms = [form for layer in one.layers for form in (layer.argv, layer.guess) if form]
        if rule := self.rules.denying(forms):
            return replace(part, verdict=Decision.DENY, rule=f"deny {rule}", why="is forbidden by a rule")
        if rule := self.rules.asking(forms):
            return replace(part, rule=f"ask {rule}", why="is always asked for by a rule")
        if because:
            return replace(part, rule=because[0], why=because[1])
        if not one.command.words:
            return replace(part, verdict=Decision.ALLOW, rule=READ_ONLY)
        return self._by_layers(one, part)

    def _by_layers(self, one: Seen, part: Part) -> Part:
        why = self._why_not(one)
        is_wrapped = bool(one.last.texts or one.opaque)
        if not why:
            rule = WRAPPED if is_wrapped else READ_ONLY
            return replace(part, argv=one.shown, verdict=Decision.ALLOW, rule=rule)
        if rule := self._allowing(one):
            return replace(part, verdict=Decision.ALLOW, rule=f"allow {rule}")
        return replace(part, rule=WRAPPED if is_wrapped else NO_RULE, why=why)

    def _why_not(self, one: Seen) -> str:
        """Why the command does not only read, "" where it does."""
        if one.opaque or not one.is_single:
            return one.opaque or "runs several commands"
        for layer in one.layers[:-1]:
            if why := self._why_not_wrapper(layer, one):
                return why
        if one.last.texts:
            return "runs a text in a loop" if one.command.repeats else ""
        return (self._why_not_globbed(one) if one.globbed else "") or self._why_not_layer(one.last)

    def _why_not_globbed(self, one: Seen) -> str:
        """Names that come in an order nobody knows may be nothing but operands, and each of them may be any operand."""
        name, fixed = one.last.name, one.last.argv[: one.fixed(one.last)]
        if not fixed or any(word.startswith("-") for word in one.globbed):
            return "takes its command or its options from the names of files"
        if name in _TAKE_FIRST and not any(not word.startswith("-") for word in fixed[1:]):
            return "takes what it does from the name of a file"
        if not (takes_names(name) or takes_anything(name) or name in _TAKE_FIRST):
            return "takes its words from the names of files"
        if takes_anything(name) or name == "printf":
            return ""
        where = self._where_for(one.last)
        return next((why for word in one.globbed if (why := where.why_not(word))), "")

    def _why_not_layer(self, layer: Layer) -> str:
        if not layer.argv or UNKNOWN in layer.argv[0]:
            return "runs a command that is made when it runs"
        name = layer.name
        if not is_known(name):
            return f"runs {layer.argv[0]}, which is not known to only read"
        if "/" in layer.argv[0] or not (layer.is_shell and is_builtin(name)):
            program = self.programs.trusted(layer.argv[0], self.where.folders)
            if program.why:
                return program.why
        words = layer.argv[1:]
        if layer.is_open or any(UNKNOWN in word for word in words):
            if takes_anything(name):
                return ""
            fixed = next((at for at, word in enumerate(words) if UNKNOWN in word), len(words))
            if name != "printf" or not fixed:
                return "has words that are known only when it runs"
            words = words[:fixed]
        if name == "read":
            return self._why_not_read(words)
        return why_not_read_only((name, *words), self._where_for(layer))

    def _where_for(self, layer: Layer) -> Whereabouts:
        if not layer.folder:
            return self.where
        where = copy(self.where)
        where.enter(None if UNKNOWN in layer.folder else layer.folder)
        return where

    def _why_not_wrapper(self, layer: Layer, one: Seen) -> str:
        """A wrapper is a program, too, or the shell's own."""
        if _is_own(layer, one):
            return ""
        return self.programs.trusted(layer.argv[0], self.where.folders).why if layer.argv else ""

    def _why_not_read(self, words: Sequence[str]) -> str:
        """`read 'a[$(x)]'` runs x."""
        names = [word for word in words if word != "-r"]
        return (
            "" if names and all(is_free_name(name, self.where) for name in names) else "reads into a name that may act"
        )

    def _allowing(self, one: Seen) -> str:
        """The rule that allows it: by the innermost command, and never around what hands commands on unseen."""
        last = one.last
        if not one.is_single or last.texts or not last.argv:
            return ""
        if self.mode is Mode.PLAN or last.name in _ACT_ON_SHELL or (last.name in SHELLS and last.is_open):
            return ""
        if any(layer.opaque not in ("", GETS_MORE) for layer in one.layers):
            return ""
        if any(UNKNOWN in layer.argv[0] or self._why_not_program(layer, one) for layer in one.layers if layer.argv):
            return ""
        if not one.globbed:
            return str(self.rules.allowing(last.argv, is_open=last.is_open) or "")
        fixed = last.argv[: one.fixed(last)]
        return str(self.rules.allowing(fixed, is_open=True) or "") if fixed else ""

    def _why_not_program(self, layer: Layer, one: Seen) -> str:
        """A rule names a program, and not whatever lies under that name in the workspace."""
        name = layer.argv[0]
        if _is_own(layer, one) or (layer.is_shell and is_builtin(name)):
            return ""
        if "/" in name and not name.startswith("/"):
            return "" if self.where.folders == (self.place.cwd,) else f"runs {name} from another folder"
        if name.startswith("/") and self.rules.allowing(layer.argv, is_open=layer.is_open):
            return ""
        return self.programs.outside(name, self.where.folders).why

    def _for(self, one: Seen, because: tuple[str, str] | None) -> Iterator[Part]:
        name = one.last.argv[1] if len(one.last.argv) > 1 else ""
        if because or not is_free_name(name, self.where):
            why = because[1] if because else f"sets {name.replace(UNKNOWN, '…')}"
            yield self._settled(Part(one.text, None, Decision.ASK, SETTING, why))

    # --- where the line is

    def _follow(self, one: Seen) -> None:
        for layer in one.layers:
            if layer.name in ("cd", "pushd") and folder_named(layer) is None:
                self.where.is_astray = True
            if layer.name in ("pushd", "popd"):
                if layer.name == "pushd":
                    self.where.enter(folder_named(layer))
                self.where.enter(None)
            elif layer.name == "cd":
                self.where.enter(folder_named(layer))

    def _moves(self, command: Command) -> bool:
        """Whether a command in a loop may be in another folder the next time, which counts for those before it, too."""
        guess = guess_of(command)
        return bool(guess) and (UNKNOWN in guess[0] or not _MOVES.isdisjoint(guess))

    def _inside(self, text: str, one: Seen) -> list[Part]:
        if one.command.repeats:
            self.where.is_lost = True
        kept, self._around = self._around, around_text(one, self._around)
        self._depth += 1
        parts = list(self.line(text))
        self._depth -= 1
        self._around = kept
        return parts

    # --- modes

    def _settled(self, part: Part) -> Part:
        """What the mode makes of a verdict. Neither the floor nor a rule that forbids gives way to any."""
        if part.verdict is not Decision.ASK:
            return part
        if self.mode is Mode.YOLO and part.rule not in (GUARDED, UNSEEN):
            return replace(part, verdict=Decision.ALLOW, rule="yolo")
        if self.mode is Mode.PLAN:
            return replace(part, verdict=Decision.DENY, rule="plan mode")
        return part


def _is_own(layer: Layer, one: Seen) -> bool:
    """Whether the shell itself is the wrapper. `time` is its word only unquoted, and where a pipeline begins."""
    if not layer.is_shell or layer.argv[0] not in _OWN_WRAPPERS:
        return False
    if layer.argv[0] != "time":
        return True
    return layer is one.layers[0] and one.command.fed_by is None and one.text.startswith(("time ", "time\t"))


def _guarded(part: Part, marks: Sequence[Mark], *, reads_secret: bool) -> Part:
    """What writes to a protected file, or reads a secret, asks whatever else is allowed."""
    guarded = next((mark for mark in marks if mark.kind == PROTECTED), None)
    if part.verdict not in (Decision.ALLOW, Decision.ASK) or not (guarded or reads_secret):
        return part
    why = guarded.why if guarded else part.why or "reads what looks like a secret"
    return replace(part, verdict=Decision.ASK, rule=GUARDED, why=why)
