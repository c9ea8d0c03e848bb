"""What tree-sitter's bash grammar sees in a command, as our own records.

A node of a kind that is not on the lists below is an oddity: it is looked into for commands, and it cannot be judged.
"""

from __future__ import annotations

from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from agent.approvals.shell_reading import (
    MOST_NODES,
    Command,
    Oddity,
    Reading,
    Redirection,
    Words,
    split_assignments,
)
from agent.approvals.shell_word import Unreadable, Word

_DEEPEST = 150
_HOLDERS = frozenset(
    {
        "program",
        "list",
        "subshell",
        "compound_statement",
        "if_statement",
        "elif_clause",
        "else_clause",
        "do_group",
        "negated_command",
        "case_item",
        "command_substitution",
        "process_substitution",
    }
)
_LOOPS = frozenset({"while_statement", "for_statement", "c_style_for_statement"})
_COMMANDS = frozenset(
    {
        "command",
        "declaration_command",
        "unset_command",
        "test_command",
        "variable_assignment",
        "variable_assignments",
    }
)
_REDIRECTIONS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_WORDS = frozenset(
    {
        "word",
        "string",
        "raw_string",
        "ansi_c_string",
        "concatenation",
        "number",
        "simple_expansion",
        "expansion",
        "command_substitution",
        "process_substitution",
        "arithmetic_expansion",
        "variable_name",
        "special_variable_name",
        "test_operator",
        "variable_assignment",
        "brace_expression",
        "extglob_pattern",
        "regex",
        "translated_string",
        "subscript",
        "array",
    }
)
_IN_WORDS = (_WORDS - {"brace_expression", "extglob_pattern", "regex", "translated_string", "subscript", "array"}) | {
    "string_content",
    "command_name",
    "binary_expression",
    "unary_expression",
    "parenthesized_expression",
    "ternary_expression",
    "heredoc_body",
    "heredoc_content",
    "heredoc_start",
    "heredoc_end",
    "file_descriptor",
}
_ODD = {
    "ERROR": "is not the bash that can be read here",
    "case_statement": "holds a case, which is not judged",
    "function_definition": "defines a function",
    "c_style_for_statement": "does arithmetic in a for",
    "subscript": "reaches into an array",
    "array": "fills an array",
}


def read_tree(source: str, words: Words) -> Reading:
    """All commands of the text, those inside substitutions too."""
    tree = Parser(_language()).parse(source.encode("latin-1"))  # a parser of its own: threads may not share one
    root = tree.root_node
    if root.descendant_count > MOST_NODES:
        raise Unreadable(f"has more than {MOST_NODES:,} pieces")
    reader = _Reader(source, words)
    reader.visit(root, None)
    if root.end_byte < len(source.rstrip(" \t\n")) or root.start_byte > len(source) - len(source.lstrip(" \t\n")):
        reader.odd(root, "has text that belongs to nothing")
    commands = tuple(command for command in reader.commands if command is not None)
    return Reading(source, commands, tuple(reader.oddities), tuple(reader.functions))


@cache
def _language() -> Language:
    return Language(tree_sitter_bash.language())


class _Reader:
    """Walks the tree once. `visit` gives the place of the last command in what it visited, for what is piped from it."""

    def __init__(self, source: str, words: Words) -> None:
        self.source, self.words = source, words
        self.commands: list[Command | None] = []
        self.oddities: list[Oddity] = []
        self.functions: list[str] = []
        self._loops = self._depth = 0

    def odd(self, node: Node, why: str) -> None:
        self.oddities.append(Oddity(node.start_byte, node.end_byte, why))

    def visit(self, node: Node, fed_by: int | None) -> int | None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unreadable("nests more than can be judged")
        last = self._visit(node, fed_by)
        self._depth -= 1
        return last

    def _visit(self, node: Node, fed_by: int | None) -> int | None:
        kind = node.type
        if kind in _COMMANDS:
            return self._command(node, [], fed_by)
        if kind == "redirected_statement":
            return self._redirected(node, fed_by)
        if kind == "pipeline":
            return self._pipeline(node, fed_by)
        if kind in _LOOPS:
            return self._loop(node, fed_by)
        if kind == "comment":
            return None
        if kind not in _HOLDERS:
            self._note(node)
        elif node.child_count and node.children[0].type == "((":
            self.odd(node, "does arithmetic")
        last = None
        for child in node.children:
            if child.is_named:
                last = (
                    self.visit(child, fed_by)
                    if child.type not in _WORDS - _COMMANDS - _HOLDERS
                    else self._inside(child)
                )
            elif child.is_missing:
                self.odd(child, "is cut short")
        return last

    def _note(self, node: Node) -> None:
        if node.type == "function_definition" and (name := node.child_by_field_name("name")):
            self.functions.append(self.source[name.start_byte : name.end_byte])
        self.odd(node, _ODD.get(node.type, f"holds a {node.type.replace('_', ' ')}, which is not judged"))

    def _pipeline(self, node: Node, fed_by: int | None) -> int | None:
        last = fed_by
        for child in node.named_children:
            last = self.visit(child, last)
        return last

    def _loop(self, node: Node, fed_by: int | None) -> int | None:
        if node.type == "for_statement":
            self._for_words(node)
        elif node.type != "while_statement":
            self._note(node)
        self._loops += 1
        last = None
        for child in node.named_children:
            last = self._inside(child) if child.type in _WORDS - {"variable_assignment"} else self.visit(child, fed_by)
        self._loops -= 1
        return last

    def _for_words(self, node: Node) -> None:
        if node.children[0].type != "for":
            return self.odd(node, "holds a select, which is not judged")
        within = [child for child in node.children if child.type in _WORDS or child.type == "for"]
        self._keep(node, [self.words.at(child.start_byte, child.end_byte) for child in within], [], None)
        return None

    # --- simple commands

    def _redirected(self, node: Node, fed_by: int | None) -> int | None:
        bodies = [child for child in node.named_children if child.type not in _REDIRECTIONS]
        redirections = [child for child in node.named_children if child.type in _REDIRECTIONS]
        if len(bodies) == 1:
            return self._with(bodies[0], redirections, fed_by)
        for body in bodies:
            self.visit(body, fed_by)
        return self._keep(node, [], redirections, fed_by)

    def _with(self, body: Node, redirections: list[Node], fed_by: int | None) -> int | None:
        """The grammar hangs `> f` on a whole line of commands where bash gives it to the last of them."""
        if body.type in _COMMANDS:
            return self._command(body, redirections, fed_by)
        if body.type not in ("list", "pipeline", "negated_command"):
            last = self.visit(body, fed_by)
            place = self._keep(body, [], redirections, fed_by)
            return place if last is None else last
        *before, final = [child for child in body.named_children if child.type != "comment"]
        for child in before:
            last = self.visit(child, fed_by)
            fed_by = last if body.type == "pipeline" else fed_by
        return self._with(final, redirections, fed_by)

    def _command(self, node: Node, redirections: list[Node], fed_by: int | None) -> int:
        if node.type in ("variable_assignment", "variable_assignments"):
            nodes = [node] if node.type == "variable_assignment" else node.children
        elif node.type == "test_command":
            nodes = list(self._test_leaves(node))
            if nodes[0].type != "[":
                self.odd(node, "holds a [[ ]], which is not judged")
        else:
            nodes = [child for child in node.children if child.type not in _REDIRECTIONS]
        own = [child for child in node.children if child.type in _REDIRECTIONS]
        return self._keep(node, [self._word(each) for each in nodes], [*own, *redirections], fed_by)

    def _test_leaves(self, node: Node) -> list[Node]:
        leaves: list[Node] = []
        rest = node.children[::-1]
        while rest:
            child = rest.pop()
            if child.type in _WORDS or not child.child_count:
                leaves.append(child)
            else:
                rest += child.children[::-1]
        return leaves

    def _word(self, node: Node) -> Word:
        if node.is_named:
            self._inside(node)
        if node.is_missing or node.start_byte == node.end_byte:
            self.odd(node, "is cut short")
        return self.words.at(node.start_byte, node.end_byte)

    def _keep(self, node: Node, words: list[Word], redirections: list[Node], fed_by: int | None) -> int:
        """The place is taken before the inside is read, so that commands stand in the order of the text."""
        place = len(self.commands)
        self.commands.append(None)
        told: list[Redirection] = []
        behind: list[Node] = []  # `cat <<E | sh` has the rest of the pipeline inside the heredoc
        for each in redirections:
            self._redirection(each, words, told, behind)
        assignments, words_left = split_assignments(sorted(words, key=lambda word: word.start), self.words)
        end = max([node.end_byte, *(each.end_byte for each in redirections)])
        self.commands[place] = Command(
            node.start_byte, end, words_left, assignments, tuple(told), fed_by, self._loops > 0
        )
        for each in behind:
            self.visit(each, place)
        return place

    def _redirection(self, node: Node, words: list[Word], told: list[Redirection], behind: list[Node]) -> None:
        operator = fd = ""
        at = target = -1
        for child in node.children:
            if child.type == "file_descriptor":
                fd = self.source[child.start_byte : child.end_byte]
            elif child.type in _REDIRECTIONS:
                self._redirection(child, words, told, behind)
            elif not child.is_named and not operator:
                operator, at = child.type, child.start_byte
            elif child.type == "heredoc_body":
                self._inside(child)
            elif child.type in ("heredoc_end", "comment") or not child.is_named:
                continue
            elif child.type in _WORDS or child.type == "heredoc_start":
                word = self._word(child)
                if target < 0:
                    target = child.start_byte
                    told.append(Redirection(at, operator, word, fd))
                else:
                    words.append(word)
            else:
                behind.append(child)
        if target < 0 and not (fd or operator.endswith("-")):
            self.odd(node, "redirects to nowhere")

    def _inside(self, node: Node) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unreadable("nests more than can be judged")
        self._look_inside(node)
        self._depth -= 1

    def _look_inside(self, node: Node) -> None:
        """The commands in the substitutions of a word."""
        if node.type in ("command_substitution", "process_substitution"):
            self.visit(node, None)
            return
        if node.type in _REDIRECTIONS or node.type in _COMMANDS - {"variable_assignment"}:
            self.visit(node, None)
            return
        if node.type not in _IN_WORDS:
            self._note(node)
        for child in node.children:
            if child.is_missing:
                self.odd(child, "is cut short")
            elif child.is_named and child.type != "comment":
                self._inside(child)
