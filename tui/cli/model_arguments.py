"""The command line of `hermes model`."""

from __future__ import annotations

import argparse

from tui.cli.options import ModelOptions


def add_model(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="verb")
    show = verbs.add_parser("show", help="what a new session talks to, and why (where no verb is named)")
    put = verbs.add_parser("set", help="save the model of every new session in config.yaml")
    put.add_argument("name", metavar="MODEL", help="provider:model, a provider, or a name of your own")
    listing = verbs.add_parser("list", help="the providers, or the models that one of them lists")
    listing.add_argument("name", nargs="?", default="", metavar="PROVIDER", help="ask this one for its models")
    parser.add_argument("--json", action="store_true", help="as JSON")
    for verb in (show, put, listing):  # which would else say no where it stands before the verb
        verb.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="as JSON")


def model_options(given: argparse.Namespace) -> ModelOptions:
    return ModelOptions(given.verb or "show", vars(given).get("name", ""), given.json)
