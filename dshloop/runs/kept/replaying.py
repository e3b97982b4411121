"""A session played again: what a person said goes to a loop, and what happens is compared.

With ``recorded`` models and tools say what they said then, so that all that can differ is what
loops and plugins do. The session itself is only read; memory and logs of the replay are in a
folder of its own that is gone afterwards.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from dshloop.drivers import DEFAULT, choose
from dshloop.drivers.engines import CARRIES
from dshloop.errors import CompactionFailedError, ReplayRefusedError
from dshloop.files import shown
from dshloop.host.abort import AbortSignal
from dshloop.loops.binding import stored_binding
from dshloop.paths import Places
from dshloop.runs.interrupts import Running
from dshloop.runs.kept.recorded import Recorded
from dshloop.runs.process import Process
from dshloop.runs.talking.conversation import Conversation
from dshloop.runs.talking.models import ModelAsked
from dshloop.runs.talking.options import RunOptions
from dshloop.runs.talking.reading import without_recorders
from dshloop.sessions.differing import Difference, differences, facts
from dshloop.sessions.naming import log_path
from dshloop.sessions.recording import RecordedTurn
from dshloop.sessions.session import Clock
from dshloop.transcripts.vocabulary import Event

if TYPE_CHECKING:
    from dshloop.drivers.playback import RecordedModel


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of it: how many facts were compared, and which differ.

    ``kept`` is the log of the replay, where it was to be kept.
    """

    source: Recorded
    loop: str
    driver: str | None
    turns: int
    compared: int
    differences: Sequence[Difference]
    recorded: bool = False
    notices: Sequence[str] = ()
    kept: Path | None = None
    kept_id: str | None = None

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def as_json(self) -> dict[str, Any]:
        """Give it as a JSON object."""
        return {
            "session": self.source.id,
            "path": shown(self.source.path),
            "loop": self.loop,
            "driver": self.driver,
            "recorded": self.recorded,
            "turns": self.turns,
            "compared": self.compared,
            "same": self.same,
            "differences": [each.as_json() for each in self.differences],
            "kept": None if self.kept is None else {"id": self.kept_id, "path": shown(self.kept)},
        }


@dataclass(slots=True)
class Replay:
    """One replay: what is played, on what, and where its files are.

    ``options`` names driver, loop and rows; what it leaves open is as the session recorded it.
    """

    places: Places
    source: Recorded
    options: RunOptions
    clock: Clock
    recorded: bool = False
    _steps: dict[tuple[int, int], list[dict[str, Any]]] = field(default_factory=dict)
    _config: Mapping[str, Any] | None = None  # what the turns so far were made with

    def run(self, *, keep: bool = False) -> Replayed:
        """Play the session and compare. Raises what opening a session raises, REPLAY_REFUSED.

        A Ctrl-C ends it, and is raised.
        """
        with TemporaryDirectory(prefix="dshloop-replay-") as folder:
            places = Places(self.places.dsh_home, Path(folder), self.places.config)
            self._lend_attachments(places)
            options = self._options()
            with Running() as running:
                conversation, events = running.run(lambda: self._play(places, options))
            kept = self._keep(events, conversation) if keep else None
            return self._compared(conversation, events, kept)

    def _lend_attachments(self, places: Places) -> None:
        """Have images that were attached found by the replay, too."""
        own = self.places.data / "attachments"
        if own.is_dir():
            (places.data / "attachments").symlink_to(own, target_is_directory=True)

    def _options(self) -> RunOptions:
        """Fill in what the session ran on, and leave out what records elsewhere."""
        source, options = self.source, self.options
        stored = stored_binding(source.events, source.preset)
        driver = options.driver or stored.driver
        if self.recorded:
            driver = self._player(options.driver, stored.driver)
        rows, left_out = without_recorders(options.rows, recall=not self.recorded)
        told = [f"left out of a replay: {', '.join(left_out)}"] if left_out else []
        changed = replace(
            options,
            cwd=Path(source.cwd) if source.cwd else options.cwd,
            driver=driver,
            loop=options.loop or stored.loop,
            preset=source.preset if source.ours else None,
            rows=replace(rows, notices=(*rows.notices, *told)),
        )
        if self.recorded:
            config = source.recording.config
            alone = driver is not None and not choose(driver).asks_model
            model = ModelAsked(seed=config.get("seed")) if alone else _model(config)
            changed = replace(changed, model=model)
        return changed

    @staticmethod
    def _player(typed: str | None, stored: str | None) -> str:
        """Choose the engine that plays models and tools: one of ours. Raises REPLAY_REFUSED."""
        if typed is not None and choose(typed).name in CARRIES:
            raise ReplayRefusedError(
                f"{typed} asks models and runs tools by itself, and can't be given recorded ones",
                hint="Leave --recorded or --driver away.",
                driver=typed,
            )
        foreign = stored is None or stored in CARRIES
        return typed or (DEFAULT if foreign or stored is None else stored)

    async def _play(self, places: Places, options: RunOptions) -> tuple[Conversation, list[Event]]:
        player: RecordedModel | None = None
        if self.recorded:
            from dshloop.drivers.playback import RecordedModel

            player = RecordedModel(
                self.source.recording,
                lambda: self._turn_of(conversation),
                lambda cause: conversation.cancel(cause),
                lambda request: request.messages == conversation.agent.surface.messages(),
            )
            options = replace(options, prepare=lambda process: _play_model(process, player))
        conversation = await Conversation.open(places, options, self.clock)
        try:
            if self.recorded:
                from dshloop.drivers.playback import play_memory, play_tools

                play_tools(conversation.agent, self.source.recording)
                play_memory(conversation.agent, self.source.recording)
            conversation.agent.listen(lambda event: self._steer(conversation, event))
            for turn in self.source.recording.turns:
                await self._play_turn(conversation, turn)
                await self._compact(conversation, turn)
            return conversation, list(conversation.agent.session.events)
        finally:
            conversation.cancel()
            await conversation.close()

    @staticmethod
    def _turn_of(conversation: Conversation) -> int:
        turn = conversation.agent.latest.get("turn/start", {}).get("turn")
        return turn if type(turn) is int else 0

    async def _play_turn(self, conversation: Conversation, turn: RecordedTurn) -> None:
        """Give the agent a turn's first messages, and wait until it has nothing left to do."""
        first = turn.inputs.get(1, [])
        if self.recorded:
            self._switch_model(conversation, turn)
        self._steps = {
            (turn.number, step): messages for step, messages in turn.inputs.items() if step > 1
        }
        if not first:
            return
        for message in first[:-1]:
            conversation.agent.inject(message)
        conversation.agent.followup(first[-1])
        async for _event in conversation.events():
            pass

    def _switch_model(self, conversation: Conversation, turn: RecordedTurn) -> None:
        """Ask with other options from here on where the session did, and the loop pins none."""
        before, config = self._config, turn.config
        self._config = config or before
        if config is None or before is None:
            return
        old, new, now = _asked(before), _asked(config), conversation.agent.options
        changed = {name: new[name] for name in new if getattr(now, name) == old[name]}
        conversation.agent.options = replace(now, **changed)

    async def _compact(self, conversation: Conversation, turn: RecordedTurn) -> None:
        """Have the history summarised where a person had; where that fails, the logs differ."""
        for _ in range(turn.compacted if self.recorded else 0):
            with contextlib.suppress(CompactionFailedError):
                await conversation.compact(AbortSignal())

    def _steer(self, conversation: Conversation, event: Event) -> None:
        """Say what was said while a step ran, as soon as that step begins."""
        if event["type"] == "step/start":
            place = (event["data"]["turn"], event["data"]["step"] + 1)
            for message in self._steps.pop(place, []):
                conversation.agent.steer(message)

    def _compared(
        self, conversation: Conversation, events: Sequence[Event], kept: Path | None
    ) -> Replayed:
        ours = self.source.ours
        before, after = facts(self.source.events, ours=ours), facts(events, ours=ours)
        return Replayed(
            self.source,
            conversation.binding.loop,
            conversation.binding.driver,
            sum(1 for fact in after if fact.type == "turn/end"),
            max(len(before), len(after)),
            differences(before, after),
            self.recorded,
            conversation.notices,
            kept,
            None if kept is None else conversation.id,
        )

    def _keep(self, events: Sequence[Event], conversation: Conversation) -> Path:
        """Put the replay's log among our sessions, under its own id. Raises WRITE_FAILED."""
        from dshloop.files import writing
        from dshloop.paths import private_folder
        from dshloop.sessions.events import lenient_line
        from dshloop.sessions.writing import new_log

        header = conversation.agent.session.header
        path = log_path(self.places.sessions, header.cwd, header.id)
        with writing(path):
            private_folder(path.parent)
        with new_log(path) as file:
            file.write(lenient_line(header.raw))
            for event in events:
                file.write(lenient_line(event))
        return path


RECORDED = "recorded"
"""What provider and model are called where the log doesn't name them."""


def _play_model(process: Process, player: RecordedModel | None) -> None:
    """Have whatever provider is asked answer from the recording."""
    if player is None:
        return
    host = process.host
    asked = player.providers | set(host.adapters)
    host.adapters.update(dict.fromkeys(asked, player))
    host.adapter_sources.insert(0, lambda _name: player)


def _model(config: Mapping[str, Any]) -> ModelAsked:
    """Give the model of the recorded session, as it was asked for."""
    return ModelAsked(
        provider=config.get("provider", RECORDED),
        model=config.get("model", RECORDED),
        max_tokens=config.get("maxTokens"),
        effort=config.get("reasoningEffort"),
        seed=config.get("seed"),
    )


def _asked(config: Mapping[str, Any]) -> dict[str, Any]:
    """Give a request's config as options of an agent."""
    asked = _model(config)._asdict()
    return {"reasoning_effort" if name == "effort" else name: asked[name] for name in asked}
