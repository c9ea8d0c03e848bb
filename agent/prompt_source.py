"""What the system prompts of a profile are made of: its home, its settings, and the project at hand where that is trusted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from agent.personality import PERSONALITIES, Personalities, Personality, is_none, read_personalities
from agent.profile import Profile
from agent.prompt import IDENTITY, Prompt, PromptPart, Tier, day_in, environment
from agent.steer_note import NOTE
from session.models import Session

if TYPE_CHECKING:
    from agent.config.settings import Settings
    from agent.prompt_files import Read

SOUL = "SOUL.md"
SETTING = ("display", "personality")
GONE = "The personality {name} of this session is not there any more, so the model speaks without one. /personality lists those there are."
STEERING = PromptPart("steering", Tier.STABLE, NOTE)


class PromptSource:
    """Of one profile. `read_…` and `make` look at the disk and block; the rest is what was read last."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._settings = profile.settings
        self.personalities = Personalities({name: Personality(name, text) for name, text in PERSONALITIES.items()})

    @property
    def new_personality(self) -> str:
        """That of a new session, "" for none."""
        name = self._settings.display.personality
        return "" if is_none(name) else name

    def read_personalities(self) -> Personalities:
        """All there are now: a file that was written a moment ago, too."""
        home, own = self._profile.home, self._read_settings().personalities
        texts: Mapping[str, str] = {name: one.text for name, one in own.items()}
        self.personalities = read_personalities(home.root, home.shown, texts)
        return self.personalities

    def save_new_personality(self, name: str) -> None:
        """Have new sessions begin with it, "" for none. Nothing else of config.yaml changes. Raises NotSet, NotSaved."""
        from agent.config.config_file import set_setting, unset_setting  # yaml, which a start need not pay for

        home = self._profile.home
        shown = f"{home.shown}/{home.config.name}"
        if name:
            set_setting(home.config, SETTING, name, shown)
        else:
            unset_setting(home.config, SETTING, shown)
        self._read_settings()

    def make(self, session: Session, window: int | None, kept: str = "") -> Prompt:
        """A prompt for a session as everything is now.

        `kept` is the one it had. Where that differs in the day alone it stays, for a night: a server may still know it.
        """
        today = date.today()
        if day_in(kept) == str(today - timedelta(days=1)):
            made = self._made(session, window, day_in(kept))
            if made.text == kept:
                return made
        return self._made(session, window, str(today))

    # --- inside

    def _made(self, session: Session, window: int | None, day: str) -> Prompt:
        from agent.prompt_files import most_chars  # and what reads a project's files, which the first frame need not

        most = most_chars(window)
        identity, told = self._identity(most)
        rules = self._rules(Path(session.workspace), most)
        parts = [*identity, STEERING, *self._project(rules), environment(session, day)]
        mask = self._profile.secrets.mask
        masked = tuple(PromptPart(part.name, part.tier, mask(part.text), part.origin) for part in parts)
        return Prompt(masked, (*told, *rules.notices))

    def _identity(self, most: int) -> tuple[list[PromptPart], tuple[str, ...]]:
        """SOUL.md in the place of our words, then what the settings say; these alone take our place, too."""
        from agent.prompt_files import read_own

        home, own = self._profile.home, self._read_settings().agent.system_prompt
        soul = read_own(home.root / SOUL, f"{home.shown}/{SOUL}", most)
        parts = [PromptPart("identity", Tier.STABLE, soul.text, soul.origin)] if soul.text else []
        if own:
            parts.append(PromptPart("system prompt", Tier.STABLE, own, "agent.system_prompt"))
        return parts or [PromptPart("identity", Tier.STABLE, IDENTITY)], soul.notices

    def _rules(self, root: Path, most: int) -> Read:
        from agent.prompt_files import Read, read_instructions

        trust = self._profile.trust()
        return Read() if trust is None else read_instructions(Path(os.path.realpath(root)), trust, most)

    def _project(self, rules: Read) -> list[PromptPart]:
        if not rules.text:
            return []
        text = f"Instructions of the project, from {rules.origin}:\n\n{rules.text}"
        return [PromptPart("project rules", Tier.CONTEXT, text, rules.origin)]

    def _read_settings(self) -> Settings:
        """As they are on the disk; while config.yaml can't be read, as they were."""
        found = self._profile.read_settings().settings
        if not found.unread or self._settings.unread:
            self._settings = found
        return self._settings
