"""A strict second reading of a command, by the lexical rules of bash itself: words, operators, heredocs, nesting.

It reads lists, pipelines, subshells, groups, if, while and for; whatever else there is, it refuses. What the grammar
sees is trusted only where this reading found the very same commands. It works on one character a byte.
"""

from __future__ import annotations

import re

from msgspec import Struct

from agent.approvals.shell_word import HOME, UNKNOWN, Chars, Unreadable, Word, ansi_c, plain_word, word_of

Span = tuple[int, int]

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=^-]++(?=[ \t\n;&|()<>]|\Z)")
_BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_FINITE = re.compile(r"\$\(\(([0-9 +*/%<>=!&|^~?:,-]*)\)\)")
_NAME = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|[0-9?#$!@*_-])")
# The expansions that only look a variable up: no indirection, no subscript, no arithmetic, no `@P`, nothing nested.
_LOOKUP = re.compile(
    r"\$\{(?:#?([A-Za-z_][A-Za-z0-9_]*)|([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-+][A-Za-z0-9_./ -]*)|(?:%%?|##?)[A-Za-z0-9_.*?/-]*))\}"
)
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_REDIRECT = re.compile(r"(?P<fd>[0-9]{0,3})(?P<operator><<<|<<-|<<|<>|<&|<|>>|>&|>\||>)(?!\()|(?P<both>&>>|&>)")
_ENDS = re.compile(r"\|\||&&|\|&|[&|;]")
_LEADING = frozenset({"if", "then", "elif", "else", "while", "until", "do", "{", "!"})
_CLOSING = frozenset({"fi", "done", "}"})
_UNREAD = frozenset({"case", "esac", "select", "function", "coproc", "[[", "]]", "in"})
_DEEPEST = 20


def is_assignment(written: str) -> bool:
    """Whether a word in front of a command sets a variable."""
    return _ASSIGNMENT.match(written) is not None


class Heredoc(Struct, frozen=True):
    end_word: str
    is_quoted: bool
    drops_tabs: bool


class Lexer:
    """One reading. `runs` are the commands by the places of their words, assignments and all, without redirections."""

    def __init__(self, source: str, home: str = "") -> None:
        self.source, self.home = source, home
        self.at, self.end = 0, len(source)
        self.runs: set[tuple[Span, ...]] = set()
        self.redirections: set[Span] = set()
        self.words: dict[Span, Word] = {}
        self._pending: list[Heredoc] = []
        self._depth = 0

    def read(self) -> None:
        """The whole text. Raises Unreadable."""
        self._script("")

    def word_at(self, start: int) -> Word:
        """The word that begins there. Raises Unreadable."""
        self.at = start
        return self._word()

    # --- commands

    def _script(self, closer: str) -> None:
        if self._pending or self._depth >= _DEEPEST:
            raise Unreadable("nests more than can be judged")
        self._depth += 1
        while self._command(closer):
            pass
        if self._pending:
            raise Unreadable("holds a text without an end")
        self._depth -= 1

    def _command(self, closer: str) -> bool:
        """Up to the next separator; whether there is more."""
        run: list[Word] = []
        is_closed = False  # behind a `)`, a `}` or a `fi`, where only redirections may stand
        while True:
            self._skip_blanks()
            char = self.source[self.at : min(self.at + 1, self.end)]
            if not char or char == ")":
                return self._close(char, closer, run)
            if char == "\n":
                self._keep(run)
                self.at += 1
                self._heredocs()
                return True
            if self._redirection():
                continue
            if match := _ENDS.match(self.source, self.at, self.end):
                self._keep(run)
                self.at = match.end()
                return True
            if char == "(":
                is_closed = self._subshell(run, is_closed)
                continue
            is_closed = self._next_word(run, is_closed)

    def _close(self, char: str, closer: str, run: list[Word]) -> bool:
        if char != closer:
            raise Unreadable("has a bracket too few or too many")
        self._keep(run)
        self.at += len(char)
        return False

    def _keep(self, run: list[Word]) -> None:
        if run:
            self.runs.add(tuple((word.start, word.end) for word in run))

    def _subshell(self, run: list[Word], is_closed: bool) -> bool:
        if run or is_closed or self.source.startswith("((", self.at):
            raise Unreadable("defines a function, an array or does arithmetic")
        self.at += 1
        self._script(")")
        return True

    def _next_word(self, run: list[Word], is_closed: bool) -> bool:
        is_first = all(is_assignment(self._written(word)) for word in run)
        if is_first and _SUBSCRIPT.match(self.source, self.at, self.end):
            raise Unreadable("sets a part of an array")
        word = self._word()
        written = self._written(word)
        if self.source[self.at : self.at + 1] in ("<", ">") and written.startswith("{"):
            raise Unreadable("opens a file under a name of its own")
        if run:
            run.append(word)
            return is_closed
        if written in _CLOSING:
            return True
        if is_closed:
            raise Unreadable("has words where none may stand")
        if written in _UNREAD:
            raise Unreadable(f"holds {written}, which is not judged")
        if written == "for":
            self._for(word)
        elif written not in _LEADING:
            run.append(word)
        return False

    def _for(self, keyword: Word) -> None:
        """`for NAME in words`, up to the separator, which is left."""
        self._skip_blanks()
        name = self._word()
        self._skip_blanks()
        if not self._written(name).isidentifier() or self._written(self._word()) != "in":
            raise Unreadable("holds a for that is not judged")
        run = [keyword, name]
        while True:
            self._skip_blanks()
            if self.at >= self.end or self.source[self.at] in "\n;":
                return self._keep(run)
            if self.source[self.at] in "()&|<>":
                raise Unreadable("holds a for that is not judged")
            run.append(self._word())

    def _skip_blanks(self) -> None:
        if match := _BLANKS.match(self.source, self.at, self.end):
            self.at = match.end()
        if self.source.startswith("#", self.at) and self.at < self.end:
            match = _COMMENT.match(self.source, self.at, self.end)
            self.at = match.end() if match else self.at

    def _written(self, word: Word) -> str:
        return self.source[word.start : word.end]

    # --- redirections and heredocs

    def _redirection(self) -> bool:
        match = _REDIRECT.match(self.source, self.at, self.end)
        if match is None:
            return False
        at = match.start("operator") if match["operator"] else match.start()
        self.at = match.end()
        self._skip_blanks_in_line()
        target = self._word()
        self.redirections.add((at, target.start))
        operator = match["operator"]
        if operator in ("<<", "<<-"):
            written = self._written(target)
            if target.values is None or len(target.values) != 1 or "\n" in target.values[0] or "$" in written:
                raise Unreadable("holds a text whose end cannot be told")
            is_quoted = any(char in written for char in "\\'\"")
            self._pending.append(Heredoc(target.values[0], is_quoted, operator == "<<-"))
        return True

    def _skip_blanks_in_line(self) -> None:
        if match := _BLANKS.match(self.source, self.at, self.end):
            self.at = match.end()

    def _heredocs(self) -> None:
        pending, self._pending = self._pending, []
        for heredoc in pending:
            self._heredoc(heredoc)

    def _heredoc(self, heredoc: Heredoc) -> None:
        start = self.at
        while self.at < self.end:
            line_end = self.source.find("\n", self.at, self.end)
            line_end = self.end if line_end < 0 else line_end
            line = self.source[self.at : line_end]
            if (line.lstrip("\t") if heredoc.drops_tabs else line) == heredoc.end_word:
                if not heredoc.is_quoted:
                    self._heredoc_body(start, self.at)
                self.at = min(line_end + 1, self.end)
                return
            self.at = line_end + 1
        raise Unreadable("holds a text without an end")

    def _heredoc_body(self, start: int, end: int) -> None:
        if "\\\n" in self.source[start:end]:
            raise Unreadable("holds a text with joined lines")
        kept = self.at, self.end
        self.at, self.end = start, end
        while self.at < self.end:
            self._double_quoted_char([], is_heredoc=True)
        self.at, self.end = kept

    # --- words

    def _word(self) -> Word:
        start = self.at
        if match := _PLAIN.match(self.source, start, self.end):
            self.at = match.end()
            return self._known(plain_word(match[0], start))
        chars: Chars = []
        while self.at < self.end and self._word_char(chars):
            pass
        if self.at == start:
            raise Unreadable("misses a word")
        return self._known(word_of(chars, start, self.at, self.home))

    def _known(self, word: Word) -> Word:
        self.words[word.start, word.end] = word
        return word

    def _word_char(self, chars: Chars) -> bool:
        """One more piece of the word; False at its end."""
        char = self.source[self.at]
        if char in " \t\n;&|()":
            return False
        if char in "<>":
            if not self._starts("(", 1):
                return False
            self._nested(2, chars)
        elif char == "\\":
            self._escaped(chars)
        elif char == "'":
            chars += [(each, True) for each in self._until_quote(self.at + 1)]
        elif char == '"':
            self._double_quoted(chars)
        elif char == "$":
            self._dollar(chars, is_quoted=False)
        elif char == "`":
            self._backquoted(chars)
        else:
            chars.append((char, False))
            self.at += 1
        return True

    def _escaped(self, chars: Chars) -> None:
        if self.at + 1 >= self.end:
            raise Unreadable("ends in a backslash")
        # Bash joins the lines before it looks for `$(` and operators: "$\<newline>(rm d)" runs rm.
        if self.source[self.at + 1] == "\n":
            raise Unreadable("joins lines in the middle of a word")
        chars.append((self.source[self.at + 1], True))
        self.at += 2

    def _until_quote(self, start: int) -> str:
        end = self.source.find("'", start, self.end)
        if end < 0:
            raise Unreadable("holds a quote without an end")
        self.at = end + 1
        return self.source[start:end]

    def _double_quoted(self, chars: Chars) -> None:
        self.at += 1
        while not self._starts('"'):
            if self.at >= self.end:
                raise Unreadable("holds a quote without an end")
            self._double_quoted_char(chars, is_heredoc=False)
        self.at += 1

    def _double_quoted_char(self, chars: Chars, *, is_heredoc: bool) -> None:
        char = self.source[self.at]
        if char == "$":
            return self._dollar(chars, is_quoted=True)
        if char == "`":
            return self._backquoted(chars)
        if (
            char == "\\"
            and self.at + 1 < self.end
            and self.source[self.at + 1] in ("$`\\\n" if is_heredoc else '$`"\\\n')
        ):
            return self._escaped(chars)
        chars.append((char, True))
        self.at += 1
        return None

    def _dollar(self, chars: Chars, *, is_quoted: bool) -> None:
        if match := _FINITE.match(self.source, self.at, self.end):
            return self._unknown(chars, match.end())
        if match := _NAME.match(self.source, self.at, self.end):
            return self._unknown(chars, match.end(), HOME if match[1] == "HOME" else UNKNOWN)
        if self._starts("((", 1):
            raise Unreadable("does arithmetic with more than numbers")
        if self._starts("(", 1):
            return self._nested(2, chars)
        if self._starts("{", 1):
            return self._lookup(chars)
        if self._starts("[", 1) or (not is_quoted and self._starts('"', 1)):
            raise Unreadable("holds an expansion that is not judged")
        if not is_quoted and self._starts("'", 1):
            chars += [(each, True) for each in ansi_c(self._until_ansi_quote())]
            return None
        chars.append(("$", True))
        self.at += 1
        return None

    def _until_ansi_quote(self) -> str:
        match = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL).match(self.source, self.at, self.end)
        if match is None:
            raise Unreadable("holds a quote without an end")
        self.at = match.end()
        return match[1]

    def _lookup(self, chars: Chars) -> None:
        match = _LOOKUP.match(self.source, self.at, self.end)
        if match is None:
            raise Unreadable("holds an expansion that is not judged")
        self._unknown(chars, match.end(), HOME if match[1] == "HOME" and "#" not in match[0] else UNKNOWN)

    def _unknown(self, chars: Chars, end: int, stands_for: str = UNKNOWN) -> None:
        chars.append((stands_for, True))
        self.at = end

    def _nested(self, opener: int, chars: Chars) -> None:
        self.at += opener
        self._script(")")
        chars.append((UNKNOWN, True))

    def _backquoted(self, chars: Chars) -> None:
        closed = self.source.find("`", self.at + 1, self.end)
        if closed < 0 or "\\" in self.source[self.at : closed]:
            raise Unreadable("holds backquotes that cannot be told")
        kept, self.at, self.end = self.end, self.at + 1, closed
        self._script("")
        self.at, self.end = closed + 1, kept
        chars.append((UNKNOWN, True))

    def _starts(self, text: str, ahead: int = 0) -> bool:
        return self.source.startswith(text, self.at + ahead, self.end)
