"""The durable conversation: a SQLite store that knows nothing of the floors above it."""
