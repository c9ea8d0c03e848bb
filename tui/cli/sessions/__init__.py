"""`hermes sessions`: what is stored, for people and for programs."""
