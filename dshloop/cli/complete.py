"""Shell completion: answers what the scripts in completions/ ask, one ``value<TAB>help`` a line.

The scripts set ``_DSHLOOP_COMPLETE`` and pass the words up to the cursor; the last one is the word
being completed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dshloop.cli.invocation import Invocation
    from dshloop.environment import Environment


def answer(words: Sequence[str], env: Environment | None = None) -> int:
    """Write the completions of the last word; a fault completes nothing and says nothing."""
    from dshloop.cli.invocation import Invocation
    from dshloop.environment import Environment
    from dshloop.terminal import one_line, visible

    env = env or Environment.real()
    try:
        for value, text in completions(words, Invocation(env)):
            if value == visible(value) and not {"\t", "\n"} & {*value}:  # a line couldn't hold it
                env.stdout.write(f"{value}\t{one_line(text)}\n")
        env.stdout.flush()
    except Exception:
        pass
    return 0


def completions(words: Sequence[str], invocation: Invocation) -> list[tuple[str, str]]:
    """Give (value, help) of each completion of the last word."""
    import typer
    from typer._click import shell_completion

    from dshloop.cli.app import app

    *before, incomplete = _without_equals_words(words or [""])
    option, equals, _ = incomplete.partition("=")
    prefix = option + equals if equals and option.startswith("-") else ""
    command = typer.main.get_command(app)
    context: Any = shell_completion._resolve_context(
        command, {"obj": invocation}, "dshloop", list(before)
    )
    asked, incomplete = shell_completion._resolve_incomplete(context, list(before), incomplete)
    items = asked.shell_complete(context, incomplete)
    return [(prefix + item.value, item.help or "") for item in items]


def _without_equals_words(words: Sequence[str]) -> list[str]:
    """Undo what bash does to ``--profile=web``: it makes three words of it."""
    kept = [word for at, word in enumerate(words) if word != "=" or at == 0]
    return [*kept, ""] if words[-1] == "=" and len(words) > 1 else kept


def profile_names(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Offer the profiles on disk, then the templates dsh knows."""
    from dshloop.cli.params import invocation
    from dshloop.profiles.layout import TEMPLATES, profile_folders

    on_disk = [folder.name for folder in profile_folders(invocation(ctx).places)]
    templates = [
        name for name in TEMPLATES if name not in on_disk and name not in ("base", "empty")
    ]
    offered = [(name, "profile") for name in on_disk] + [(name, "template") for name in templates]
    return [item for item in offered if item[0].startswith(incomplete)]


def layer_names(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Offer the layers that an edit of a profile may go to."""
    offered = [("profile", "this profile"), ("home", "all profiles")]
    return [item for item in offered if item[0].startswith(incomplete)]


def setting_keys(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Offer the keys of config.yml."""
    from dshloop.config import SETTINGS

    return [(item.key, item.summary) for item in SETTINGS if item.key.startswith(incomplete)]
