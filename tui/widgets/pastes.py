"""Long pasted texts and images, and the short labels that stand for them in a draft."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from agent.config.display_settings import DisplaySettings
from agent.image_files import ImageFile
from agent.literal import visible

TEXT = r"\[Pasted text #\d+ · [\d,]+ (?:lines|characters)\]"
IMAGE = r"\[image \d+: [^\[\]\n]+\]"
LABEL = re.compile(f"{TEXT}|{IMAGE}")
IMAGE_LABEL = re.compile(IMAGE)
GONE = "[A pasted text of {size} stood here; it is not kept any more.]"
IMAGE_GONE = "[An image stood here; where it lies is not kept any more.]"
NAME_CHARS = 60


def folds(text: str, settings: DisplaySettings) -> bool:
    """Whether a pasted text is long enough for a label."""
    by_lines, by_chars = settings.paste_fold_lines, settings.paste_fold_chars
    return bool((by_lines and text.count("\n") + 1 >= by_lines) or (by_chars and len(text) >= by_chars))


class Pastes:
    """What was pasted in this process: of an image, where it lies. A label is given once, and never stands for another
    thing (F04)."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._images: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """A new label for a text."""
        lines = text.count("\n") + 1
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        label = f"[Pasted text #{len(self._texts) + 1} · {size}]"
        self._texts[label] = text
        return label

    def picture(self, image: ImageFile) -> str:
        """A new label for an image."""
        size = f" {image.width}x{image.height}" if image.width else ""
        return self._picture(str(image.path), f"{_short(image.path.name)}{size}")

    def text_of(self, label: str) -> str:
        """The text, or the path of the image."""
        return self._texts.get(label) or self._images[label]

    def is_image(self, label: str) -> bool:
        return label in self._images

    def spans(self, line: str) -> Iterator[tuple[int, int]]:
        """Where labels stand in a line."""
        if "[" in line:
            yield from (match.span() for match in LABEL.finditer(line) if self._knows(match[0]))

    def expanded(self, draft: str) -> str:
        """The draft with each text in the place of its label. The label of an image stays: it tells where it belongs."""
        return LABEL.sub(lambda match: self._texts.get(match[0], match[0]), draft)

    def images(self, draft: str) -> tuple[str, ...]:
        """The paths of the images in a draft, in their order."""
        return tuple(self._images[label] for label in IMAGE_LABEL.findall(draft) if label in self._images)

    def held(self, draft: str) -> Mapping[str, str]:
        """The labels in a draft and what they stand for."""
        return {label: self.text_of(label) for label in LABEL.findall(draft) if self._knows(label)}

    def adopt(self, draft: str, labels: Mapping[str, str | None]) -> str:
        """A draft of another time, with its labels as they are here. Of a thing that is None it is said that it is gone."""

        def adopted(match: re.Match[str]) -> str:
            label = match[0]
            if label not in labels:
                return label
            is_image, thing = bool(IMAGE_LABEL.fullmatch(label)), labels[label]
            if thing is None:
                return IMAGE_GONE if is_image else GONE.format(size=label.rpartition(" · ")[2].rstrip("]"))
            if self._knows(label) and self.text_of(label) == thing:
                return label
            known = next((one for one, held in self._of_kind(is_image).items() if held == thing), "")
            return known or (self._picture(thing, label.partition(": ")[2][:-1]) if is_image else self.fold(thing))

        return LABEL.sub(adopted, draft)

    def with_images(self, text: str, paths: Sequence[str]) -> str:
        """A text that was sent, or is to be, with the images that belong to it as labels: at its end where none names one."""
        labels = IMAGE_LABEL.findall(text)
        if len(labels) == len(paths):
            return self.adopt(text, dict(zip(labels, paths, strict=True)))
        return " ".join(chain([text], (self._picture(path, _short(path.rpartition("/")[2])) for path in paths)))

    def _picture(self, path: str, told: str) -> str:
        label = f"[image {len(self._images) + 1}: {told}]"
        self._images[label] = path
        return label

    def _knows(self, label: str) -> bool:
        return label in self._texts or label in self._images

    def _of_kind(self, is_image: bool) -> Mapping[str, str]:
        return self._images if is_image else self._texts


def _short(name: str) -> str:
    """The name of a file as a label can hold it."""
    plain = visible(name).translate(str.maketrans("[]\n", "()_"))
    return plain if len(plain) <= NAME_CHARS else f"{plain[: NAME_CHARS - 1]}…"
