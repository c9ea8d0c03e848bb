"""Full screens and modals: each composes widgets, owns its keys and closes itself."""
