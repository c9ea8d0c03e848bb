"""What the screen adds to the command table."""
