"""The tables of one connection, as a function given to `SessionDB.write` or `SessionDB.read` sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.approvals import Approvals
from session.calls import Calls
from session.connection import Connection
from session.lease import Leases
from session.lineage import Lineage
from session.messages import Messages
from session.partials import Partials
from session.profile_names import ProfileNames
from session.prompts import Prompts
from session.queued import Queue
from session.sessions import Sessions
from session.state import State
from session.turns import Turns
from session.usage import UsageLedger

if TYPE_CHECKING:
    from session.search import Search
    from session.transcripts import Transcripts


class Tables:
    """Synchronous verbs by table. Valid only inside the function it was given to."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection  # for what looks at the file itself, not at one table
        self.sessions = Sessions(connection)
        self.messages = Messages(connection)
        self.lineage = Lineage(connection)
        self.partials = Partials(connection)
        self.turns = Turns(connection)
        self.calls = Calls(connection)
        self.approvals = Approvals(connection)
        self.state = State(connection)
        self.profile_names = ProfileNames(connection)
        self.prompts = Prompts(connection)
        self.queued = Queue(connection)
        self.leases = Leases(connection)
        self.usage = UsageLedger(connection)

    # What a start does without is imported when it is asked for.

    @property
    def transcripts(self) -> Transcripts:
        from session.transcripts import Transcripts

        return Transcripts(self.connection)

    @property
    def search(self) -> Search:
        from session.search import Search

        return Search(self.connection)
