"""Ways of speaking that a person writes into config.yaml."""

from typing import Annotated

from msgspec import Meta, Struct


class PersonalitySettings(Struct, frozen=True):
    """One of them; a plain text in its place is its text."""

    text: Annotated[str, Meta(description="How the model is to speak, in words to it.")] = ""
