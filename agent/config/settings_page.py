"""docs/settings.md, made from the table of settings: python -m agent.config.settings_page > docs/settings.md"""

from __future__ import annotations

import sys

from msgspec import json

from agent.config.table import ANY_NAME, Setting, all_settings, allowed, environment_name

HEAD = """\
# Settings

Made from the table in agent/config/settings.py by `make settings`; change that, not this page.

Settings stand in `config.yaml` in the home folder (`hermes config path` says where). Each source stands over the ones
before it: defaults, your `config.yaml`, the `.hermes/config.yaml` of a folder you trust, the environment, and
`--set KEY=VALUE` on the command line. Mappings are merged key by key. The lists of rules under
`approvals` are added up, and no project adds to what is allowed. `hermes config list` shows every value and where
it came from, `hermes config set KEY VALUE` saves one without touching the rest of the file, `hermes config check` says
what is wrong. A value that is wrong is reported with its line and passed over; everything else holds.

`<name>` is a name of your choice. A name with a dot in it stands in quotes:
`hermes config set 'providers.here.models."gpt-4.1".context_length' 128000`. `model: some-id` is short for
`model: {default: some-id}`; over a source that names a provider, too, it is a model of that provider, unless it names
its own, as `openai:gpt-4.1` does.

Keys and passwords do not belong here but in `.env` beside it: `hermes config set OPENAI_API_KEY ...` puts them there, as
it does every name of capital letters.

| Key | Takes | Default | What it is |
|---|---|---|---|
"""

ENVIRONMENT = """
## In the environment

These settings can be given as a variable. An empty variable says nothing.

| Variable | Key |
|---|---|
"""


def settings_page() -> str:
    """The whole page, with a line end after the last line."""
    rows = [_row(key, setting) for key, setting in all_settings().items()]
    variables = [
        f"| `{environment_name(key)}` | `{key}` |"
        for key, setting in all_settings().items()
        if setting.is_one_value and ANY_NAME not in key
    ]
    return "".join([HEAD, *(f"{row}\n" for row in rows), ENVIRONMENT, *(f"{row}\n" for row in variables)])


def _row(key: str, setting: Setting) -> str:
    default = json.encode(setting.default).decode() if setting.default not in ("", None, (), {}) else ""
    about = f"{setting.about} Kept for a later version; nothing uses it yet." if setting.is_unused else setting.about
    cells = (f"`{key}`", allowed(setting), f"`{default}`" if default else "", about)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    sys.stdout.write(settings_page())
