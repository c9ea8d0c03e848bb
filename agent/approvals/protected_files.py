"""Files that decide what happens later or whose they are: of the system, of the person, of git, of hermes itself.

Those of the system are never written by a file tool. The others are asked about each time, whatever else is allowed.
"""

from __future__ import annotations

import os
import pwd
import re
from pathlib import Path

from agent.tools.base import Workplace

# Folders in which people have their own work, such as /usr/local and /usr/src, are none of the system's here.
_SYSTEM = re.compile(
    r"(?i)^(?:/private)?/(?:etc|boot|bin|sbin|lib(?:32|64|x32)?|proc|sys|dev)(?:/|$)"
    r"|^/usr/(?:s?bin|lib(?:32|64|x32|exec)?|share|include)(?:/|$)|^/(?:System|Library)/"
    r"|^(?:/run|/var/lib)/systemd(?:/|$)|^/var/spool/(?:cron|at)(?:/|$)|/docker\.sock$"
)
_INSTRUCTIONS = re.compile(
    r"(?i)/(?:agents|claude|soul|\.?hermes)(?:\.local)?\.md$|/\.cursorrules$|/\.cursor/rules(?:/|$)|/\.hermes(?:/|$)"
)
_GIT = re.compile(r"(?i)/\.git(?:/|$)")
_PERSONAL = re.compile(
    r"(?i)/\.(?:ssh|aws|gnupg|kube|docker|azure|password-store)(?:/|$)"
    r"|/\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|inputrc|zshrc|zprofile|zshenv|zlogin|zlogout|login"
    r"|cshrc|tcshrc|kshrc|netrc|npmrc|pypirc|pgpass|gitconfig|git-credentials|vimrc|tmux\.conf|xprofile|xinitrc)$"
    r"|/\.config/(?:fish|systemd|autostart|git|environment\.d)/|/\.env(?:\.[\w-]+)?$|/\.hermes-tui(?:/|$)"
    r"|/\.local/share/systemd(?:/|$)|/Library/LaunchAgents/"
)


def why_system(path: Path) -> str:
    """Why no file tool writes there, as a clause; "" where it may."""
    return f"{path} belongs to the system" if _SYSTEM.search(str(path)) else ""


def why_protected(path: Path, place: Workplace) -> str:
    """What a file is that is asked about each time, to follow "writes to"; "" for another file."""
    text = str(path)
    if place.home is not None and path.is_relative_to(Path(os.path.realpath(place.home))):
        return f"{path}, which belongs to hermes itself"
    if _INSTRUCTIONS.search(text):
        return f"{path}, which tells agents what to do"
    if _GIT.search(text):
        return f"{path}, where git keeps what it runs"
    return f"{path}, which is personal or runs by itself" if _PERSONAL.search(text) else ""


def is_too_wide(place: Workplace) -> bool:
    """Whether the workspace is the home folder, or holds it: then nothing in it is read or changed unasked."""
    home = Path(os.path.realpath(place.environ.get("HOME") or _own_home()))
    return home.is_relative_to(Path(os.path.realpath(place.root)))


def _own_home() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"
