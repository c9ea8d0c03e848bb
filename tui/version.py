"""The version, where printing it costs nothing."""

VERSION = "0.1.0"
