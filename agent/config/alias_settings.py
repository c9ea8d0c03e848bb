"""Names of a person's own for models."""

from typing import Annotated

from msgspec import Meta, Struct

from session.models import ApiMode


class AliasSettings(Struct, frozen=True):
    """A model under another name. One with an address of its own is a server for itself: it gets the key that is named
    here, or none.

    `flaw` says what is wrong with where it leads or which key it gets; such a name is refused as a whole.
    """

    model: Annotated[
        str, Meta(description="The model that the name stands for: an id, or provider:id.", extra={"takes": "name"})
    ] = ""
    provider: Annotated[
        str, Meta(description="Where that model is: a name under providers, or a known one.", extra={"takes": "name"})
    ] = ""
    base_url: Annotated[
        str,
        Meta(
            description="The address of a server of its own, which gets no key but the one named here.",
            extra={"takes": "url"},
        ),
    ] = ""
    key_env: Annotated[
        str,
        Meta(description="The variable that holds the key of that server.", extra={"takes": "key_env"}),
    ] = ""
    api_mode: Annotated[
        ApiMode,
        Meta(description="How that server is spoken to.", extra={"choices": (ApiMode.CHAT, ApiMode.RESPONSES)}),
    ] = ApiMode.CHAT
    context_length: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000_000)] | None,
        Meta(description="The context window of its model in tokens."),
    ] = None
    flaw: str = ""
