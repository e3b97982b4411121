"""A row that brings one tool, for runs in tests."""

from __future__ import annotations

from typing import Any

from dshloop.host.mount import Mount
from dshloop.host.tools import Tool

NAME = "tests/measure"


class Measure:
    """Offers the tool `measure`: the length of a word; a word of no length is an error."""

    name = NAME

    @staticmethod
    def Config(_raw: Any) -> None:  # noqa: N802 - the name every plugin has
        return None

    async def apply(self, host: Mount, config: None) -> None:
        schema = {
            "type": "object",
            "properties": {"word": {"type": "string"}},
            "required": ["word"],
        }
        host.tool(Tool("measure", "Measures a word.", self._measure, schema))

    @staticmethod
    def _measure(call: Any) -> str:
        word = call.arguments["word"]
        if not word:
            raise ValueError("there is no word")
        return f"{len(word)} letters"
