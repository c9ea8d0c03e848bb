"""The commands a person can type, as one table."""
