"""The figure of a stored session, as a process of its own tells it: `python -m tests.honesty.reopen SESSION`."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from agent.open import open_hub
from agent.profile import Profile


async def main(session_id: str) -> None:
    profile = Profile.load(os.environ)
    hub = await open_hub(profile, source="tui", is_attended=True)
    await hub.open(session_id)
    figure = hub.context(session_id)
    print(json.dumps({"used": figure.used, "source": figure.source}))
    await hub.close("it was looked at")
    profile.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
