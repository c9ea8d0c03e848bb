"""The text behind a block: what is copied, searched and shown as source."""

from __future__ import annotations

from tui.transcript.blocks import Activity, Answer, Block, NoticeBlock, Prompt, Reasoning, Refusal, Summary, ToolCard


def source_of(block: Block) -> str:
    """All that a block says, without anything that drawing adds. A tool call is its arguments and its output."""
    match block:
        case Answer(source=source):
            return source
        case ToolCard():
            return "\n".join(part for part in (block.shown, block.output) if part)
        case Prompt() | Reasoning() | Refusal() | Summary() | NoticeBlock() | Activity():
            return block.text


def may_fold(block: Block) -> bool:
    """Whether a block may stand there with a part of it only."""
    return isinstance(block, ToolCard | Reasoning | Prompt | Summary)
