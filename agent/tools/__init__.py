"""What the model can do: one module a tool."""
