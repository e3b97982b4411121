"""What is asked of a run and not every engine can give: refused before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dshloop.errors import DriverNotReadOnlyError, ImagesUnsupportedError, UsageError
from dshloop.loops.carrying import carries_of
from dshloop.runs.talking.options import RunOptions

if TYPE_CHECKING:
    from dshloop.llm.providers import Providers


def require_carried(options: RunOptions, driver: str | None, engine: object) -> None:
    """Refuse what doesn't reach a driver's engine, which has its own prompt and tools.

    Raises DRIVER_NOT_READ_ONLY, IMAGES_UNSUPPORTED, USAGE.
    """
    carries = carries_of(engine)
    if options.read_only and not carries.tools:
        raise DriverNotReadOnlyError(
            f"{driver} has tools of its own, which --read-only can't hold back", driver=driver
        )
    if options.system is not None and not carries.prompt:
        raise UsageError(
            f"{driver} has a system prompt of its own, which --system adds nothing to",
            option="--system",
        )
    if carries.tools:
        return
    if options.seed is not None:
        raise UsageError(f"{driver} takes no --seed", option="--seed")
    if _has_images(options):
        raise ImagesUnsupportedError(f"{driver} takes no images", driver=driver)


def require_taken(
    options: RunOptions, given: Mapping[str, Any], providers: Providers | None
) -> None:
    """Refuse what the chosen provider doesn't take. Raises IMAGES_UNSUPPORTED, USAGE."""
    name = given.get("provider")
    provider = None if providers is None or not isinstance(name, str) else providers.find(name)
    if provider is None:
        return
    if options.seed is not None and not provider.takes_seed:
        raise UsageError(f"the provider {name} takes no --seed", option="--seed")
    if not provider.takes_images and _has_images(options):
        raise ImagesUnsupportedError(f"the provider {name} takes no images", provider=name)


def _has_images(options: RunOptions) -> bool:
    if not options.attached:
        return False
    from dshloop.runs.talking.attaching import has_images

    return has_images(options.attached)
