"""Those who speak to a model: one protocol, one module a wire format."""
