"""File states before and after what a session does, so that a rewind can restore files too. See docs/checkpoints.md."""
