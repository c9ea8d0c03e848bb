"""Reading the settings of a home, as cheaply as the first frame needs it and without ever failing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agent.config.files import NotReadable, read_text
from agent.config.settings import ENVIRONMENT_PREFIX, Loaded, Settings, Sources

# Of hermes, but no settings: the home, the profile, and the mark on what a tool starts.
NO_SETTINGS = frozenset({"HERMES_HOME", "HERMES_PROFILE", "HERMES_CALL"})


def load_settings(
    path: Path,
    shown: str = "",
    *,
    project: tuple[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    is_remembered: bool = True,
) -> Loaded:
    """Defaults < config.yaml < the file of a trusted project < the environment < flags; no content makes it raise.

    `shown` is how a person knows the file; `project` is such a name and the text of the project's own file. What was
    read is remembered beside the file for the next time, unless it is not to be: then nothing is written.
    """
    sources = _sources(path, shown or str(path), project, environ or {}, flags or {})
    if sources.is_empty:
        return Loaded(Settings(file=sources.file))
    # yaml costs tens of milliseconds, which a home without a config, or with the same one as before, does not pay.
    from agent.config.settings_cache import SettingsCache

    cache = SettingsCache(path.parent / "cache" / "settings.json")
    loaded = cache.get(sources)
    if loaded is None:
        from agent.config.settings_reader import read_settings

        loaded = read_settings(sources)
        if is_remembered:
            cache.put(sources, loaded)
    return loaded


def _sources(
    path: Path, file: str, project: tuple[str, str] | None, environ: Mapping[str, str], flags: Mapping[str, str]
) -> Sources:
    given = {name: value for name, value in environ.items() if name.startswith(ENVIRONMENT_PREFIX) and value}
    if given.keys() - NO_SETTINGS:
        from agent.config.table import environment_names

        given = {name: value for name, value in given.items() if name in environment_names()}
    else:
        given = {}
    try:
        return Sources(file, read_text(path), "", project, given, flags)
    except NotReadable as error:
        return Sources(file, None, str(error), project, given, flags)
