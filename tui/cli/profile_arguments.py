"""The command line of `hermes profile`, read into options."""

from __future__ import annotations

import argparse

from tui.cli.options import ProfileOptions

# What each verb names, and what it does.
VERBS: dict[str, tuple[tuple[str, ...], str]] = {
    "list": ((), "the profiles there are"),
    "create": (("NAME",), "a new, empty profile"),
    "clone": (("SOURCE", "NAME"), "a new profile with the settings, keys and memories of another one"),
    "use": (("NAME",), "the profile that a plain `hermes` starts with; default goes back to the first one"),
    "rename": (("OLD", "NEW"), "give a profile that is not open another name"),
    "delete": (("NAME",), "remove a profile with all its conversations and keys"),
    "migrate-identity": (("OLD", "NEW"), "finish a renaming that was cut short"),
}


def add_profile(profile: argparse.ArgumentParser) -> None:
    """The verbs, each with --json."""
    verbs = profile.add_subparsers(dest="verb", metavar="verb", required=True)
    for verb, (names, said) in VERBS.items():
        parser = verbs.add_parser(verb, help=said)
        for name in names:
            parser.add_argument(f"name_{name.lower()}", metavar=name)
        if verb == "delete":
            parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument("--json", action="store_true", help="as JSON")


def profile_options(given: argparse.Namespace) -> ProfileOptions:
    values: dict[str, str] = vars(given)
    names = tuple(values[f"name_{name.lower()}"] for name in VERBS[given.verb][0])
    return ProfileOptions(given.verb, names, given.json, getattr(given, "yes", False))
