"""Ways of speaking that a person can lay over a session."""

from __future__ import annotations

PERSONALITIES: dict[str, str] = {
    "concise": "Answer in as few words as the matter allows. No preamble, no summary of what was asked.",
    "teacher": "Explain as to a bright colleague new to the subject: the reason first, then the step, then a small example.",
    "reviewer": "Read everything as a careful reviewer: name risks, missing tests and simpler ways before you agree.",
}
