"""What is read as Markdown: CommonMark with tables and strike-through, formulas and marks of footnotes.

A rule looks at no more than its own block: no reference definitions, and a formula ends with its paragraph.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

INLINE_FORMULA = re.compile(
    r"\$\$(?P<display>[^$`]{1,500}?)\$\$"
    r"|\\\((?P<round>[^`]{1,500}?)\\\)"
    r"|\\\[(?P<square>[^`]{1,500}?)\\\]"
    r"|\$(?P<dollar>[^\s$`](?:[^$`\n]{0,300}?[^\s$`\\])?)\$(?![\w$])"
)
TEX_SIGN = re.compile(r"[\\^_=+<>{}]")
FOOTNOTE = re.compile(r"\[\^([^\]\s]{1,40})\]")
MOST_LEVELS = 40
"""Of blocks inside blocks, where a list and its item count as two. What lies deeper is shown as it was written."""
CLOSERS = {"$$": "$$", "\\[": "\\]"}


def parser() -> MarkdownIt:
    md = (
        MarkdownIt("commonmark", {"html": True, "maxNesting": MOST_LEVELS + 10})
        .enable(["table", "strikethrough"])
        .disable(["reference"])
    )
    md.inline.ruler.before("escape", "formula", _formula)
    md.inline.ruler.before("link", "footnote", _footnote)
    md.block.ruler.before("table", "too_deep", _too_deep)
    md.block.ruler.before(
        "fence", "formula_block", _formula_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    return md


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if silent or state.level < MOST_LEVELS:
        return False
    state.push("too_deep", "", 0).content = state.getLines(start, end, state.blkIndent, False)
    state.tokens[-1].map = [start, end]
    state.line = end
    return True


def _formula(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    found = INLINE_FORMULA.match(state.src, state.pos)
    if found is None or not _is_formula(found, state.src[state.pos - 1 : state.pos]):
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content = found[found.lastgroup or 0]
    state.pos = found.end()
    return True


def _is_formula(found: re.Match[str], before: str) -> bool:
    """Whether signs that also mean money, a variable of a shell or an escaped bracket mean a formula here."""
    content = found[found.lastgroup or 0]
    if not content.strip() or before.isalnum() or before == "$":
        return False
    match found.lastgroup:
        case "square":
            return TEX_SIGN.search(content) is not None
        case "dollar":
            return len(content) == 1 or not content[0].isdigit() or TEX_SIGN.search(content) is not None
        case _:
            return True


def _footnote(state: StateInline, silent: bool) -> bool:
    found = FOOTNOTE.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("footnote", "", 0).content = found[1]
    state.pos = found.end()
    return True


def _formula_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A formula on lines of its own. Without its closing sign it ends at an empty line, and is shown as written.

    Whether one begins can be told from its first line alone, so that what stands before it is finished then.
    """
    if state.is_code_block(start):
        return False
    first = _line(state, start)
    closer = CLOSERS.get(first[:2])
    if closer is None or not _begins(first, closer):
        return False
    if silent:
        return True
    lines, number, is_closed = [first], start + 1, closer in first[2:]
    while not is_closed and number < end and not state.isEmpty(number) and state.sCount[number] >= state.blkIndent:
        lines.append(_line(state, number))
        is_closed = closer in lines[-1]
        number += 1
    source = "\n".join(lines)
    content, closing, rest = source[2:].partition(closer)
    token = state.push("formula_block", "", 0)
    token.content = content if closing else source
    token.markup = closing
    token.info = rest.strip()
    token.map = [start, number]
    state.line = number
    return True


def _begins(first: str, closer: str) -> bool:
    content, closing, rest = first[2:].partition(closer)
    if closing:
        return len(rest.strip()) <= 2 and bool(content.strip()) and (closer == "$$" or bool(TEX_SIGN.search(content)))
    return closer == "$$" or not content or content[0] == " "


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]].rstrip()
