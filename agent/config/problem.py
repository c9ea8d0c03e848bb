"""What is wrong in a file that a person wrote, as a sentence for that person."""

from __future__ import annotations

from msgspec import Struct


class Problem(Struct, frozen=True):
    """One thing in one file that does not hold. Everything else of the file still works.

    `file` is named as the person knows it; `line` counts from 1; `text` says what is allowed. No value of the file is
    repeated: people paste keys into the wrong places. A remark is worth knowing but changes nothing that was asked for.
    """

    file: str
    text: str
    line: int | None = None
    key: str = ""
    is_remark: bool = False

    @property
    def sentence(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}: {self.text}"
