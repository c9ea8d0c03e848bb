"""The entry point. Nothing but `sys` is imported before it is known what for: `hermes version` costs what Python costs."""

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if given in (["version"], ["--version"], ["-V"]):
        from tui.version import VERSION

        print(f"hermes {VERSION}")
        return 0
    import gc

    gc.disable()  # starting makes much and drops little; each command turns it on again when it is under way
    try:
        from tui.cli.dispatch import dispatch

        return dispatch(given)
    except KeyboardInterrupt:
        return 130
