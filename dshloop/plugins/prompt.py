"""The row `dshloop/prompt`: a section of the system prompt as data."""

from __future__ import annotations

from dataclasses import dataclass

from dshloop.host.mount import Mount


@dataclass(frozen=True, slots=True)
class PromptConfig:
    """``{{cwd}}``, ``{{provider}}`` and ``{{model}}`` in the text are filled in."""

    text: str = ""
    name: str = "prompt"
    order: float = 0

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not isinstance(self.name, str):
            raise ValueError("text and name must be texts")
        if isinstance(self.order, bool) or not isinstance(self.order, int | float):
            raise ValueError("order must be a number")


class Prompt:
    """Adds the section where the row stands: in the profile, or in a preset for its agents."""

    name = "dshloop-prompt"
    Config = PromptConfig
    inject = ("systemPrompt",)

    async def apply(self, host: Mount, config: PromptConfig) -> None:
        """Add the section."""
        if config.text.strip():
            host.section(config.name, config.text, order=config.order)
