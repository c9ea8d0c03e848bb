"""The tables of one connection, as a function given to `SessionDB.write` or `SessionDB.read` sees them."""

from __future__ import annotations

from session.approvals import Approvals
from session.calls import Calls
from session.connection import Connection
from session.messages import Messages
from session.partials import Partials
from session.profile_names import ProfileNames
from session.sessions import Sessions
from session.state import State
from session.turns import Turns


class Tables:
    """Synchronous verbs by table. Valid only inside the function it was given to."""

    def __init__(self, connection: Connection) -> None:
        self.sessions = Sessions(connection)
        self.messages = Messages(connection)
        self.partials = Partials(connection)
        self.turns = Turns(connection)
        self.calls = Calls(connection)
        self.approvals = Approvals(connection)
        self.state = State(connection)
        self.profile_names = ProfileNames(connection)
