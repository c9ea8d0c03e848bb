"""Every key of the screen, by the widget or screen that owns it. The help page is made from these tables."""

from __future__ import annotations

from textual.binding import Binding, BindingType


def key(keys: str, action: str, description: str, tooltip: str, name: str, *, is_first: bool = False) -> Binding:
    """One binding. `name` identifies it for good, whatever keys it has; `is_first`: no modal can keep it away."""
    return Binding(keys, action, description, tooltip=tooltip, id=name, show=False, priority=is_first)


APP_KEYS: list[BindingType] = [
    key("ctrl+q", "quit", "Quit", "Leave; every conversation stays.", "app.quit", is_first=True),
    key("ctrl+c", "stop", "Stop", "Copy, else interrupt, else clear the draft, else quit (twice).", "app.stop"),
]

MAIN_KEYS: list[BindingType] = [
    key("escape", "interrupt", "Interrupt", "Stop the running turn; the draft stays.", "main.interrupt"),
    key(
        "ctrl+n", "next_pending", "Next question", "Open the next session that asks you something.", "main.next_pending"
    ),
    key("alt+up", "switch(-1)", "Session above", "Show the session above in the sidebar.", "main.session_above"),
    key("alt+down", "switch(1)", "Session below", "Show the session below in the sidebar.", "main.session_below"),
    key("ctrl+b", "toggle_sidebar", "Sidebar", "Show or hide the sidebar.", "main.toggle_sidebar"),
    key("ctrl+t", "take_back", "Take back", "Move the newest queued prompt back into the draft.", "main.take_back"),
    key("pageup,shift+pageup", "page_up", "Page up", "Scroll the conversation up.", "main.page_up"),
    key("pagedown,shift+pagedown", "page_down", "Page down", "Scroll the conversation down.", "main.page_down"),
    key("ctrl+end", "follow", "Latest", "Jump to the end of the conversation and stay there.", "main.follow"),
]

COMPOSER_KEYS: list[BindingType] = [
    key("enter", "send", "Send", "Send the draft; while a turn runs it waits in line.", "composer.send"),
    key("shift+enter,alt+enter,ctrl+j", "new_line", "New line", "Begin a new line in the draft.", "composer.new_line"),
    key("ctrl+d", "leave_or_delete", "Quit if empty", "Quit on an empty draft, else delete.", "composer.leave"),
]

APPROVAL_KEYS: list[BindingType] = [
    key("up,left,shift+tab", "move(-1)", "Choice above", "Move to the choice above.", "approval.above"),
    key("down,right,tab", "move(1)", "Choice below", "Move to the choice below.", "approval.below"),
    key("enter", "decide", "Decide", "Decide as the marked choice says.", "approval.decide"),
    key("escape", "deny", "Deny", "Do not run it.", "approval.deny"),
    key("1", "choose(0)", "Choose 1", "Take the first choice.", "approval.choose_1"),
    key("2", "choose(1)", "Choose 2", "Take the second choice.", "approval.choose_2"),
    key("3", "choose(2)", "Choose 3", "Take the third choice.", "approval.choose_3"),
    key("4", "choose(3)", "Choose 4", "Take the fourth choice.", "approval.choose_4"),
    key("ctrl+c", "back_out", "Interrupt", "Stop the turn; the question is withdrawn.", "approval.interrupt"),
    key("alt+up", "switch(-1)", "Session above", "Decide later: show the session above.", "approval.session_above"),
    key("alt+down", "switch(1)", "Session below", "Decide later: show the session below.", "approval.session_below"),
    key("pageup", "scroll(-1)", "Page up", "Scroll the text up.", "approval.page_up"),
    key("pagedown", "scroll(1)", "Page down", "Scroll the text down.", "approval.page_down"),
    key("home", "edge(-1)", "Start", "Go to the start of the text.", "approval.start"),
    key("end", "edge(1)", "End", "Go to the end of the text.", "approval.end"),
]

CONFIRM_KEYS: list[BindingType] = [
    key("up,left,shift+tab", "move(-1)", "Choice above", "Move to the choice above.", "confirm.above"),
    key("down,right,tab", "move(1)", "Choice below", "Move to the choice below.", "confirm.below"),
    key("enter", "decide", "Decide", "Decide as the marked choice says.", "confirm.decide"),
    key("1,y", "choose(0)", "Yes", "Say yes.", "confirm.yes"),
    key("2,n", "choose(1)", "No", "Say no.", "confirm.no"),
    key("escape", "refuse", "No", "Say no.", "confirm.refuse"),
    key("ctrl+c", "back_out", "No", "Say no at once.", "confirm.back_out"),
]

PAGE_KEYS: list[BindingType] = [
    key("escape,enter,q,ctrl+c", "close", "Close", "Close the page.", "page.close"),
    key("up,k", "scroll(-1)", "Up", "Scroll up by a line.", "page.up"),
    key("down,j", "scroll(1)", "Down", "Scroll down by a line.", "page.down"),
    key("pageup", "page(-1)", "Page up", "Scroll up by a page.", "page.page_up"),
    key("pagedown,space", "page(1)", "Page down", "Scroll down by a page.", "page.page_down"),
]
