"""Every key of the screen, by the widget or screen that owns it. The help page is made from these tables."""

from __future__ import annotations

from textual.binding import Binding, BindingType


def key(keys: str, action: str, description: str, tooltip: str, name: str, *, is_first: bool = False) -> Binding:
    """One binding. `name` identifies it for good, whatever keys it has; `is_first`: no modal can keep it away."""
    return Binding(keys, action, description, tooltip=tooltip, id=name, show=False, priority=is_first)


def marking(place: str, row: str) -> list[BindingType]:
    """The keys of a list in which one row is marked; `row` is what stands in it."""
    return [
        key("up", "move(-1)", f"{row.capitalize()} above", f"Mark the {row} above.", f"{place}.above"),
        key("down", "move(1)", f"{row.capitalize()} below", f"Mark the {row} below.", f"{place}.below"),
        key("pageup", "page(-1)", "Page up", "Go up by a page.", f"{place}.page_up"),
        key("pagedown", "page(1)", "Page down", "Go down by a page.", f"{place}.page_down"),
    ]


def scrolling(place: str) -> list[BindingType]:
    """The keys of a page that is only read."""
    return [
        key("up,k", "scroll(-1)", "Up", "Scroll up by a line.", f"{place}.up"),
        key("down,j", "scroll(1)", "Down", "Scroll down by a line.", f"{place}.down"),
        key("pageup", "page(-1)", "Page up", "Scroll up by a page.", f"{place}.page_up"),
        key("pagedown,space", "page(1)", "Page down", "Scroll down by a page.", f"{place}.page_down"),
    ]


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
    key("alt+s,f4", "sessions", "Sessions", "Go to the list of sessions.", "main.sessions"),
    key("ctrl+f", "search", "Search", "Search all that was said, in every session.", "main.search", is_first=True),
    key("ctrl+t", "take_back", "Take back", "Move the newest queued prompt back into the draft.", "main.take_back"),
    key("pageup,shift+pageup", "page_up", "Page up", "Scroll the conversation up.", "main.page_up", is_first=True),
    key(
        "pagedown,shift+pagedown",
        "page_down",
        "Page down",
        "Scroll the conversation down.",
        "main.page_down",
        is_first=True,
    ),
    key("ctrl+end", "follow", "Latest", "Jump to the end of the conversation and stay there.", "main.follow"),
    key("f6", "read", "Read", "Read the conversation with the keys, or go back.", "main.read", is_first=True),
    key(
        "ctrl+pageup,alt+pageup", "turn(-1)", "Turn above", "Go to the prompt above.", "main.turn_above", is_first=True
    ),
    key(
        "ctrl+pagedown,alt+pagedown",
        "turn(1)",
        "Turn below",
        "Go to the prompt below.",
        "main.turn_below",
        is_first=True,
    ),
    key("ctrl+p", "palette", "Palette", "Find a command, a key or a session, and go.", "main.palette", is_first=True),
    key("f1", "help", "Help", "List all commands and keys.", "main.help", is_first=True),
    key("f7,alt+j", "jump", "Jump", "Go to a part of the screen by the letter on it.", "main.jump", is_first=True),
    key("f2,ctrl+comma", "settings", "Settings", "Look at the settings and change them.", "main.settings"),
    key("alt+o", "outline", "Prompts", "List the prompts of this conversation.", "main.outline"),
]

COMPOSER_KEYS: list[BindingType] = [
    key("enter", "send", "Send", "Send the draft; while a turn runs it waits in line.", "composer.send"),
    key("shift+enter,alt+enter,ctrl+j", "new_line", "New line", "Begin a new line in the draft.", "composer.new_line"),
    key("ctrl+d", "leave_or_delete", "Quit if empty", "Quit on an empty draft, else delete.", "composer.leave"),
]

PROMPT_KEYS: list[BindingType] = [
    key("up", "older", "Earlier", "The line above, then earlier prompts that begin like this one.", "prompt.older"),
    key("down", "newer", "Later", "The line below, then later prompts, and last the draft.", "prompt.newer"),
    key("tab", "complete", "Complete", "Complete a command, an @file or a path.", "prompt.complete"),
    key(
        "ctrl+s", "send", "Send", "Send the draft; the only key to do so where display.send_key says it.", "prompt.send"
    ),
    key("alt+q", "queue", "Queue", "Go to the queued prompts: edit, reorder or remove them.", "prompt.queue"),
    key("ctrl+o", "open_pasted", "Open", "Open the pasted text that the cursor stands on.", "prompt.open_pasted"),
    key(
        "ctrl+g", "edit_outside", "Editor", "Write in your editor: the draft, or a pasted text.", "prompt.edit_outside"
    ),
]

QUEUE_KEYS: list[BindingType] = [
    key("up", "mark(-1)", "Above", "Go to the queued prompt above.", "queue.above"),
    key("down", "mark(1)", "Below", "Go to the queued prompt below.", "queue.below"),
    key("enter", "edit", "Edit", "Take the queued prompt back into the draft.", "queue.edit"),
    key("shift+up", "move(-1)", "Earlier", "Send the queued prompt before the one above.", "queue.earlier"),
    key("shift+down", "move(1)", "Later", "Send the queued prompt behind the one below.", "queue.later"),
    key("delete", "remove", "Remove", "Remove the queued prompt; the history keeps it.", "queue.remove"),
    key("escape,tab", "leave", "Back", "Go back to the draft.", "queue.leave"),
]

PASTED_KEYS: list[BindingType] = [
    key("escape,ctrl+c", "close", "Close", "Close it; what was changed stays.", "pasted.close"),
    key("ctrl+o", "unfold", "Unfold", "Put the whole text into the draft.", "pasted.unfold"),
]

READING_KEYS: list[BindingType] = [
    key("escape", "leave", "Back", "Select and find nothing any more, then go back to the draft.", "reading.leave"),
    key("up,k", "move(-1)", "Up", "Go up by a line.", "reading.up"),
    key("down,j", "move(1)", "Down", "Go down by a line.", "reading.down"),
    key("left,h", "move_cells(-1)", "Left", "Go left in the line, to select from there.", "reading.left"),
    key("right,l", "move_cells(1)", "Right", "Go right in the line, to select from there.", "reading.right"),
    key("shift+up", "extend(-1)", "Select up", "Select up by a line.", "reading.select_up"),
    key("shift+down", "extend(1)", "Select down", "Select down by a line.", "reading.select_down"),
    key("shift+left", "extend_cells(-1)", "Select left", "Select to the left.", "reading.select_left"),
    key("shift+right", "extend_cells(1)", "Select right", "Select to the right.", "reading.select_right"),
    key("home,g", "edge(-1)", "Start", "Go to the start of the conversation.", "reading.start"),
    key("end,G", "edge(1)", "End", "Go to the end of the conversation.", "reading.end"),
    key("[", "turn(-1)", "Turn above", "Go to the prompt above.", "reading.turn_above"),
    key("]", "turn(1)", "Turn below", "Go to the prompt below.", "reading.turn_below"),
    key("/", "find", "Find", "Find words in this conversation.", "reading.find"),
    key("n", "next_hit(1)", "Next", "Go to the next place where the words stand.", "reading.next"),
    key("N", "next_hit(-1)", "Previous", "Go to the place before.", "reading.previous"),
    key("enter,space", "unfold", "Unfold", "Unfold the marked part, or fold it.", "reading.toggle"),
    key("v", "select", "Select", "Begin to select, or stop.", "reading.select"),
    key("y", "copy", "Copy", "Copy what is selected, else the marked part.", "reading.copy"),
    key("t", "times", "Times", "Show when things were said.", "reading.times"),
    key("r", "raw", "Source", "Show the marked part as its source.", "reading.raw"),
    key("o", "outline", "Prompts", "List the prompts of this conversation.", "reading.outline"),
]

FIND_KEYS: list[BindingType] = [
    key("escape", "leave", "Leave", "Find nothing any more.", "find.leave"),
    key("enter", "settle", "Read", "Go on reading with what was found.", "find.settle"),
    key("down", "next_hit(1)", "Next", "Go to the next place where the words stand.", "find.next"),
    key("up", "next_hit(-1)", "Previous", "Go to the place before.", "find.previous"),
]

OUTLINE_KEYS: list[BindingType] = [
    key("escape,ctrl+c,alt+o", "leave", "Leave", "Stay where you are.", "outline.leave"),
    key("enter", "decide", "Go there", "Go to the marked prompt.", "outline.decide"),
    *marking("outline", "prompt"),
]

LISTING_KEYS: list[BindingType] = [
    key("escape,ctrl+c", "leave", "Leave", "Do nothing.", "listing.leave"),
    key("enter", "decide", "Do it", "Do what the marked row says.", "listing.decide"),
    *marking("listing", "row"),
]

SETTING_KEYS: list[BindingType] = [
    key("escape,ctrl+c", "leave", "Leave", "Leave the setting as it is.", "setting.leave"),
]

PERSONALITY_KEYS: list[BindingType] = [
    key("escape,ctrl+c", "leave", "Leave", "Leave the personality as it is.", "personality.leave"),
    key("enter", "decide", "Choose", "Speak as the marked personality says.", "personality.decide"),
    key("tab", "turn", "Text or change", "Show its text, or what it changes in the prompt.", "personality.turn"),
    key("ctrl+g", "widen", "New sessions", "Let the choice hold for new sessions, too, or not.", "personality.widen"),
    *marking("personality", "personality"),
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
    key("5", "choose(4)", "Choose 5", "Take the fifth choice.", "approval.choose_5"),
    key("6", "choose(5)", "Choose 6", "Take the sixth choice.", "approval.choose_6"),
    key("ctrl+c", "back_out", "Interrupt", "Stop the turn; the question is withdrawn.", "approval.interrupt"),
    key("alt+up", "switch(-1)", "Session above", "Decide later: show the session above.", "approval.session_above"),
    key("alt+down", "switch(1)", "Session below", "Decide later: show the session below.", "approval.session_below"),
    key("pageup", "scroll(-1)", "Page up", "Scroll the text up.", "approval.page_up"),
    key("pagedown", "scroll(1)", "Page down", "Scroll the text down.", "approval.page_down"),
    key("home", "edge(-1)", "Start", "Go to the start of the text.", "approval.start"),
    key("end", "edge(1)", "End", "Go to the end of the text.", "approval.end"),
]

QUESTION_KEYS: list[BindingType] = [
    key("up,left,shift+tab", "move(-1)", "Answer above", "Move to the answer above.", "question.above"),
    key("down,right,tab", "move(1)", "Answer below", "Move to the answer below.", "question.below"),
    key("enter", "decide", "Answer", "Answer as marked, or as you wrote.", "question.decide"),
    key("escape", "decline", "No answer", "Decline to answer; the model is told so.", "question.decline"),
    *(
        key(
            f"{number}",
            f"choose({number - 1})",
            f"Answer {number}",
            f"Take answer {number}.",
            f"question.choose_{number}",
        )
        for number in range(1, 8)
    ),
    key("ctrl+c", "back_out", "Interrupt", "Stop the turn; the question is withdrawn.", "question.interrupt"),
    key("alt+up", "switch(-1)", "Session above", "Answer later: show the session above.", "question.session_above"),
    key("alt+down", "switch(1)", "Session below", "Answer later: show the session below.", "question.session_below"),
    key("pageup", "scroll(-1)", "Page up", "Scroll the question up.", "question.page_up"),
    key("pagedown", "scroll(1)", "Page down", "Scroll the question down.", "question.page_down"),
]

ALWAYS_KEYS: list[BindingType] = [
    key("up,shift+tab", "move(-1)", "Row above", "Move to the row above.", "always.above"),
    key("down,tab", "move(1)", "Row below", "Move to the row below.", "always.below"),
    key("left", "turn(-1)", "Narrower", "Let the marked rule cover less.", "always.narrower"),
    key("right", "turn(1)", "Wider", "Let the marked rule cover more.", "always.wider"),
    key("enter", "decide", "Take", "Do what the marked row says.", "always.decide"),
    key("escape", "leave", "Back", "Save nothing and go back to the question.", "always.leave"),
    key("ctrl+c", "back_out", "Interrupt", "Stop the turn; the question is withdrawn.", "always.interrupt"),
    key("pageup", "scroll(-1)", "Page up", "Scroll the rules up.", "always.page_up"),
    key("pagedown", "scroll(1)", "Page down", "Scroll the rules down.", "always.page_down"),
]

WORDS_KEYS: list[BindingType] = [
    key("tab,shift+tab", "turn", "Field or answers", "Go from the text to the answers, or back.", "words.turn"),
    key("up,left", "move(-1)", "Answer above", "Move to the answer above.", "words.above"),
    key("down,right", "move(1)", "Answer below", "Move to the answer below.", "words.below"),
    key("enter", "decide", "Take", "Do what the marked answer says.", "words.decide"),
    key("1", "choose(0)", "Choose 1", "Take the first answer.", "words.choose_1"),
    key("2", "choose(1)", "Choose 2", "Take the second answer.", "words.choose_2"),
    key("escape", "leave", "Back", "Decide nothing and go back to the question.", "words.leave"),
    key("ctrl+c", "back_out", "Interrupt", "Stop the turn; the question is withdrawn.", "words.interrupt"),
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

REWIND_KEYS: list[BindingType] = [
    key("up", "move(-1)", "Answer above", "Move to the answer above.", "rewind.above"),
    key("down", "move(1)", "Answer below", "Move to the answer below.", "rewind.below"),
    key("tab", "mark(1)", "Next conflict", "Mark the next file that somebody else changed.", "rewind.next"),
    key("shift+tab", "mark(-1)", "Conflict before", "Mark the conflict before.", "rewind.previous"),
    key("space", "tick", "Tick", "Restore the marked conflict as well, or leave it alone.", "rewind.tick"),
    key("a", "tick_all", "Tick all", "Tick all conflicts, or none.", "rewind.tick_all"),
    key("enter", "decide", "Decide", "Do what the marked answer says.", "rewind.decide"),
    *(
        key(f"{number}", f"choose({number - 1})", f"Answer {number}", f"Take answer {number}.", f"rewind.{number}")
        for number in range(1, 6)
    ),
    key("escape", "leave", "Cancel", "Nothing goes back.", "rewind.leave"),
    key("ctrl+c", "back_out", "Cancel", "Nothing goes back, at once.", "rewind.back_out"),
    key("pageup", "page(-1)", "Page up", "Scroll the files up.", "rewind.page_up"),
    key("pagedown", "page(1)", "Page down", "Scroll the files down.", "rewind.page_down"),
]

SWITCH_KEYS: list[BindingType] = [
    key("pageup", "page(-1)", "Page up", "Scroll the figures up.", "switch.page_up"),
    key("pagedown", "page(1)", "Page down", "Scroll the figures down.", "switch.page_down"),
]

MODEL_KEYS: list[BindingType] = [
    *marking("model", "row"),
    key("enter", "decide", "Choose", "Choose what is marked: a provider, then a model.", "model.decide"),
    key(
        "ctrl+g", "turn_holds", "How long", "This session, the next turn, or every new session as well.", "model.holds"
    ),
    key("ctrl+r", "reload", "Again", "Ask the servers again.", "model.reload"),
    key("escape", "back", "Back", "Undo the filter, then go back, then leave.", "model.back"),
    key("ctrl+c", "leave", "Leave", "Leave; the model stays.", "model.leave"),
]

BUSY_SWITCH_KEYS: list[BindingType] = [
    key("up,left,shift+tab", "move(-1)", "Choice above", "Move to the choice above.", "busy_switch.above"),
    key("down,right,tab", "move(1)", "Choice below", "Move to the choice below.", "busy_switch.below"),
    key("enter", "decide", "Decide", "Decide as the marked choice says.", "busy_switch.decide"),
    key("1", "choose(0)", "Later", "Let the other model take over when this turn has ended.", "busy_switch.later"),
    key("2", "choose(1)", "Interrupt", "Interrupt the turn, then switch.", "busy_switch.interrupt"),
    key("3,n", "choose(2)", "Stay", "Switch nothing.", "busy_switch.stay"),
    key("escape", "refuse", "Stay", "Switch nothing.", "busy_switch.refuse"),
    key("ctrl+c", "back_out", "Stay", "Switch nothing, at once.", "busy_switch.back_out"),
    key("pageup", "page(-1)", "Page up", "Scroll the figures up.", "busy_switch.page_up"),
    key("pagedown", "page(1)", "Page down", "Scroll the figures down.", "busy_switch.page_down"),
]

KEY_KEYS: list[BindingType] = [
    key("escape,ctrl+c", "leave", "Leave", "Leave without a key; nothing is changed.", "key.leave"),
]

SETUP_KEYS: list[BindingType] = [
    key("up,shift+tab", "move(-1)", "Choice above", "Move to the choice above.", "setup.above"),
    key("down,tab", "move(1)", "Choice below", "Move to the choice below.", "setup.below"),
    key("enter", "decide", "Choose", "Take what is marked.", "setup.decide"),
    *(
        key(f"{number}", f"choose({number - 1})", f"Choice {number}", f"Take choice {number}.", f"setup.{number}")
        for number in range(1, 10)
    ),
    key("escape,ctrl+c", "back_out", "Leave", "Leave without a model; nothing is changed.", "setup.leave"),
]

TRUST_KEYS: list[BindingType] = [  # no letters: it opens by itself, and a prompt begins with one
    key("up,left,shift+tab", "move(-1)", "Choice above", "Move to the choice above.", "trust.above"),
    key("down,right,tab", "move(1)", "Choice below", "Move to the choice below.", "trust.below"),
    key("enter", "decide", "Decide", "Decide as the marked choice says.", "trust.decide"),
    key("1", "choose(0)", "Trust", "Let what the folder brings act.", "trust.yes"),
    key("2", "choose(1)", "Not now", "Let it have no effect.", "trust.no"),
    key("escape", "refuse", "Not now", "Let it have no effect.", "trust.refuse"),
    key("ctrl+c", "back_out", "Not now", "Let it have no effect, at once.", "trust.back_out"),
]

PAGE_KEYS: list[BindingType] = [
    key("escape,enter,q,ctrl+c", "close", "Close", "Close the page.", "page.close"),
    *scrolling("page"),
]

SESSION_LIST_KEYS: list[BindingType] = [
    key("up", "move(-1)", "Session above", "Mark the session above.", "sessions.above"),
    key("down", "move(1)", "Session below", "Mark the session below.", "sessions.below"),
    key("home", "edge(-1)", "First", "Mark the first session.", "sessions.first"),
    key("end", "edge(1)", "Last", "Mark the last session.", "sessions.last"),
    key("pageup", "page(-1)", "Page up", "Go up by a page.", "sessions.page_up"),
    key("pagedown", "page(1)", "Page down", "Go down by a page.", "sessions.page_down"),
    key("enter", "pick", "Open", "Open the marked session.", "sessions.open"),
    key("backspace", "erase", "Erase", "Take back a letter of what is looked for.", "sessions.erase"),
    key("ctrl+u", "erase_all", "Erase all", "Look for nothing.", "sessions.erase_all"),
    key(
        "right", "verb('preview')", "Preview", "Show how the marked session began and where it stands.", "sessions.show"
    ),
    key("ctrl+r,f2", "verb('rename')", "Rename", "Give the marked session another name.", "sessions.rename"),
    key("ctrl+k", "verb('pin')", "Pin", "Keep the marked session on top, or no longer.", "sessions.pin"),
    key("ctrl+a", "verb('archive')", "Archive", "Take the marked session out of the list.", "sessions.archive"),
    key("ctrl+e", "verb('export')", "Export", "Write the marked session into a file.", "sessions.export"),
    key("ctrl+y", "verb('branch')", "Branch", "Go on from the marked session in a new one.", "sessions.branch"),
    key("delete,ctrl+d", "verb('delete')", "Delete", "Remove the marked session, after a question.", "sessions.delete"),
    key("ctrl+n", "verb('answer')", "Answer", "Answer what the marked session asks, from here.", "sessions.answer"),
    key("ctrl+g", "turn_grouping", "Grouping", "Put the sessions together by day or by project.", "sessions.group"),
]

SIDEBAR_KEYS: list[BindingType] = [
    key("escape", "back", "Back", "Look for nothing, then go back to the draft.", "sidebar.back"),
]

SEARCH_KEYS: list[BindingType] = [
    *marking("search", "place"),
    key("escape,ctrl+c", "leave", "Leave", "Leave the search.", "search.leave"),
]

PREVIEW_KEYS: list[BindingType] = [
    key("enter", "open", "Open", "Open the session.", "preview.open"),
    key("escape,q,left,ctrl+c", "leave", "Leave", "Go back to the list.", "preview.leave"),
    *scrolling("preview"),
]
