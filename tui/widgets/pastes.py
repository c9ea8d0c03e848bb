"""Long pasted texts, and the short labels that stand for them in a draft."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from agent.config.display_settings import DisplaySettings

LABEL = re.compile(r"\[Pasted text #\d+ · [\d,]+ (?:lines|characters)\]")
GONE = "[A pasted text of {size} stood here; it is not kept any more.]"


def folds(text: str, settings: DisplaySettings) -> bool:
    """Whether a pasted text is long enough for a label."""
    by_lines, by_chars = settings.paste_fold_lines, settings.paste_fold_chars
    return bool((by_lines and text.count("\n") + 1 >= by_lines) or (by_chars and len(text) >= by_chars))


class Pastes:
    """The pasted texts of this process. A label is given once, and never stands for another text (F04)."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """A new label for a text."""
        lines = text.count("\n") + 1
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        label = f"[Pasted text #{len(self._texts) + 1} · {size}]"
        self._texts[label] = text
        return label

    def text_of(self, label: str) -> str:
        return self._texts[label]

    def spans(self, line: str) -> Iterator[tuple[int, int]]:
        """Where labels of texts stand in a line."""
        if "[" in line:
            yield from (match.span() for match in LABEL.finditer(line) if match[0] in self._texts)

    def expanded(self, draft: str) -> str:
        """The draft with each text in the place of its label."""
        return LABEL.sub(lambda match: self._texts.get(match[0], match[0]), draft)

    def held(self, draft: str) -> Mapping[str, str]:
        """The labels in a draft and their texts."""
        return {label: self._texts[label] for label in LABEL.findall(draft) if label in self._texts}

    def adopt(self, draft: str, labels: Mapping[str, str | None]) -> str:
        """A draft of another time, with its labels as they are here. A text that is None is said to be gone."""

        def adopted(match: re.Match[str]) -> str:
            label = match[0]
            if label not in labels:
                return label
            text = labels[label]
            if text is None:
                return GONE.format(size=label.rpartition(" · ")[2].rstrip("]"))
            return label if self._texts.get(label) == text else self._known(text) or self.fold(text)

        return LABEL.sub(adopted, draft)

    def _known(self, text: str) -> str:
        return next((label for label, one in self._texts.items() if one == text), "")
