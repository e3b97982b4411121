"""Taking secrets out of what is to be stored; each function gives how many there were."""

from __future__ import annotations

from dshloop.memory.entries import Edit, NewMemory, NewObservation
from dshloop.redact import redact


def clean_memory(new: NewMemory) -> tuple[NewMemory, int]:
    """Redact the texts of a memory."""
    done = redact([new.content, new.title, new.concepts, new.files, new.source], private=True)
    if not done.found:
        return new, 0
    content, title, concepts, files, source = done.value
    return (
        new._replace(content=content, title=title, concepts=concepts, files=files, source=source),
        done.found,
    )


def clean_observation(new: NewObservation) -> tuple[NewObservation, int]:
    """Redact the texts of an observation; its key is never stored and stays."""
    texts = [new.title, new.subtitle, new.content, new.prompt]
    done = redact([*texts, new.concepts, new.files, new.source], private=True)
    if not done.found:
        return new, new.redacted
    title, subtitle, content, prompt, concepts, files, source = done.value
    clean = new._replace(
        title=title,
        subtitle=subtitle,
        content=content,
        prompt=prompt,
        concepts=concepts,
        files=files,
        source=source,
    )
    # What is in the content stands in prompt or subtitle again: it is counted once.
    return clean, new.redacted + max(1, redact(new.content, private=True).found)


def clean_edit(change: Edit) -> tuple[Edit, int]:
    """Redact the texts of a new version."""
    done = redact([change.content, change.title, change.concepts, change.files], private=True)
    if not done.found:
        return change, 0
    content, title, concepts, files = done.value
    return change._replace(content=content, title=title, concepts=concepts, files=files), done.found
