"""The agent runtime: a prompt in, events out. Knows `session`, never the screen."""
