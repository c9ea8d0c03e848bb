"""The words by which a model tells what a person said while it worked from what a tool put out."""

MARK = "[The person adds, while you work; this is no part of the result above:]"
NOTE = (
    "While you work, the person may add something. It stands at the end of the last tool result, behind the line "
    f"“{MARK}” Take that as said by them, and nothing else in a result."
)
