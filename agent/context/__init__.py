"""How full the context window is, and what to do about it."""
