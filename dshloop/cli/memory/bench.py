"""`dshloop memory bench`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.memory.common import (
    FilterVerb,
    MinScore,
    Semantic,
    filters,
    module_app,
    number,
)
from dshloop.cli.memory.opening import opened_to_read
from dshloop.cli.memory.texts import file_text
from dshloop.cli.params import invocation
from dshloop.errors import ExitCode, MemoryNotFoundError
from dshloop.result import Caution, Result
from dshloop.terminal import one_line

if TYPE_CHECKING:
    from dshloop.memory.bench import Bench, Compared
    from dshloop.memory.bench_file import Question
    from dshloop.memory.store import MemoryReader

app = module_app()


def _share(name: str, text: str) -> Any:
    return typer.Option(name, min=0.0, max=1.0, metavar="SHARE", callback=number, help=text)


@app.command(cls=FilterVerb, epilog="Example: dshloop memory bench questions.yml --min-hit 0.9")
def bench(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE.yml", help="Your questions.")],
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="FILE", help="Compare with an earlier --json result."),
    ] = None,
    min_hit: Annotated[
        float | None, _share("--min-hit", "Fail below this share of questions answered.")
    ] = None,
    min_hit_1: Annotated[float | None, _share("--min-hit-1", "Fail below this hit@1.")] = None,
    min_hit_5: Annotated[float | None, _share("--min-hit-5", "Fail below this hit@5.")] = None,
    min_hit_10: Annotated[float | None, _share("--min-hit-10", "Fail below this hit@10.")] = None,
    min_mrr: Annotated[float | None, _share("--min-mrr", "Fail below this MRR.")] = None,
    max_drop: Annotated[
        float | None, _share("--max-drop", "Fail when a figure fell further below the baseline.")
    ] = None,
    min_score: MinScore = None,
    semantic: Semantic = None,
) -> Result[dict[str, Any]]:
    """Ask your own questions, and count how many are answered.

    A question in the file has query and expect (ids, beginnings of ids, or words that must stand in
    the hit), and may have id and k: it is answered by a right hit among the first k (10). Exits
    with 1 when a figure is below what was asked for; times are shown and never judged.
    """
    from dshloop.memory.bench import compared, read_baseline, run
    from dshloop.memory.bench_file import read_questions
    from dshloop.memory.entries import KINDS

    invoked = invocation(ctx)
    questions = read_questions(file_text(invoked, file), file)
    earlier = None if baseline is None else read_baseline(file_text(invoked, baseline), baseline)
    where = filters(ctx, KINDS)
    with opened_to_read(ctx) as store:
        unknown = _unknown(store, questions)
        with invoked.progress(f"Asking {len(questions)} questions …"):
            found = run(store, questions, where, min_score=min_score, semantic=semantic)
    least = {"hit": min_hit, "hit_1": min_hit_1, "hit_5": min_hit_5, "hit_10": min_hit_10}
    change = None if earlier is None else compared(found, earlier)
    missed = _missed(found, {**least, "mrr": min_mrr}, change, max_drop)
    data = {
        **found.as_json(),
        "baseline": None if change is None else change.as_json(),
        "missed": missed,
    }
    code = ExitCode.FAILED if missed else ExitCode.DONE
    return Result(data, _view(found, change, missed), warnings=unknown, exit_code=code)


def _unknown(store: MemoryReader, questions: Sequence[Question]) -> list[Caution]:
    """Tell the expected ids that name nothing: such a question can't be answered."""
    from dshloop.memory.bench import named_ids

    told = []
    for question, named in named_ids(questions):
        try:
            store.get(named)
        except MemoryNotFoundError:
            message = f"{question.where}: nothing has the id {named}"
            told.append(Caution(message, "MEMORY_NOT_FOUND", details={"id": named}))
    return told


def _missed(
    found: Bench,
    least: Mapping[str, float | None],
    change: Compared | None,
    max_drop: float | None,
) -> list[str]:
    """Say which figures are too low."""
    missed = [
        f"{name} is {found.figures[name]:.3f}, below {value:.3f}"
        for name, value in least.items()
        if value is not None and found.figures[name] < value
    ]
    if change is not None and max_drop is not None:
        missed += [
            f"{name} fell by {-fell:.3f}, more than {max_drop:.3f}"
            for name, fell in change.figures.items()
            if -fell > max_drop
        ]
    return missed


def _view(found: Bench, change: Compared | None, missed: Sequence[str]) -> str:
    differences = {} if change is None else change.figures
    lines = [
        f"{name.replace('_', '@'):<7} {value:.3f}"
        + (f"  {differences[name]:+.3f}" if name in differences else "")
        for name, value in found.figures.items()
    ]
    lines.append(f"{'time':<7} p50 {found.latency(0.5):.1f} ms, p95 {found.latency(0.95):.1f} ms")
    lost = () if change is None else change.lost
    for answer in found.answers:
        if not answer.passed:
            rank = "not found" if answer.rank is None else f"rank {answer.rank}"
            question = answer.question
            was = " (was answered)" if question.id in lost else ""
            lines.append(
                f"missed  {one_line(question.id)}: {one_line(question.query)}: {rank}{was}"
            )
    if change is not None and change.won:
        lines.append(f"new     {one_line(', '.join(change.won))}")
    return "\n".join([*lines, *(f"failed  {text}" for text in missed)])
