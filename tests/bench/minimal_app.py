"""The floor that the product is measured against: about the least that a chat-like Textual app can be."""

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Input, Static


class MinimalApp(App[None]):
    CSS = "VerticalScroll { height: 1fr; } Input { dock: bottom; }"
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = "Input"

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="log"):
            yield Static("welcome to the minimal app, nothing else here to see at all", markup=False)
        yield Input(placeholder="Type your message")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.query_one("#log").mount(Static(event.value, markup=False))
        event.input.value = ""


if __name__ == "__main__":
    MinimalApp().run()
