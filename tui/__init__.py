"""The screen and the `hermes` command."""
