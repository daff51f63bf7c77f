"""`tt demo`: trains the classifier of examples/digits and shows which operators that took."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tt.cli import output
from tt.cli.options import Json, complete_op

if TYPE_CHECKING:
    from tt.examples.digits.train import Training

__all__ = ["demo"]


def demo(
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="The first seed.")] = 0,
    seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many seeds, one training run each.")
    ] = 1,
    epochs: Annotated[
        int, typer.Option(min=1, metavar="N", help="How often each run sees the training data.")
    ] = 12,
    shuffle_labels: Annotated[
        bool,
        typer.Option(
            "--shuffle-labels", help="Give the training labels to images at random: nothing to learn."
        ),
    ] = False,
    mask: Annotated[
        list[str] | None,
        typer.Option(
            "--mask",
            metavar="PATTERN",
            help="Ignore the kernels of these operators, so that their composites serve: softmax, 'linalg_*'; may be "
            "given several times.",
            autocompletion=complete_op,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a classifier of handwritten digits, and show which operators ran and who served them.

    The 1,797 images are from the UCI Machine Learning Repository. A fifth of them is held out; the accuracy is
    the share of these that the network classifies correctly.
    """
    from tt.core.dispatch.registry.masking import mask_kernels
    from tt.core.dispatch.resolve import trace

    masked = mask or []
    # A pattern that matches nothing would train as usual and look like a result.
    expect_operators(masked)
    start = time.perf_counter()
    with mask_kernels(*masked), trace.count() as counts:
        runs = train_all(range(seed, seed + seeds), epochs, shuffle_labels, quiet=as_json)
    seconds = time.perf_counter() - start
    operators = operator_rows(counts)
    if as_json:
        output.as_json(report(runs, operators, seconds, masked))
        return
    output.table(
        ["seed", "accuracy", "loss", "seconds"],
        [[run.settings.seed, f"{run.accuracy:.1%}", run.loss, run.seconds] for run in runs],
    )
    mean = sum(run.accuracy for run in runs) / len(runs)
    chance = " (labels shuffled: chance is 10%)" if shuffle_labels else ""
    output.text("", f"accuracy on held-out digits: {mean:.1%}{chance}", f"time: {seconds:.1f} s")
    output.heading("operators that ran")
    output.table(
        ["operator", "form", "calls", "served by"],
        [[row["op"], row["form"], row["calls"], row["served_by"]] for row in operators],
    )


def expect_operators(patterns: Sequence[str]) -> None:
    """Raise for a pattern that no operator matches: masking it would change nothing."""
    from tt.core.dispatch.registry.registry import REGISTRY
    from tt.core.errors import UnknownOpError

    names = list(REGISTRY.names())
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) or fnmatchcase(name.split(".")[0], pattern) for name in names):
            raise UnknownOpError(pattern, names)


def train_all(seeds: Sequence[int], epochs: int, shuffle_labels: bool, *, quiet: bool) -> list[Training]:
    """Train once for each seed, showing the progress."""
    from tt.examples.digits.data import load
    from tt.examples.digits.train import Settings, train

    digits = load()
    runs = []
    for seed in seeds:
        settings = Settings(seed=seed, epochs=epochs, shuffle_labels=shuffle_labels)
        with output.progress(f"seed {seed}", epochs, lines=0 if quiet else 4) as step:
            runs.append(train(digits, settings, on_epoch=note_loss(step)))
    return runs


def note_loss(step: output.Steps) -> Callable[[int, float], None]:
    """Return the progress line after each epoch of a training run."""
    return lambda epoch, loss: step(epoch, f"loss {loss:.4f}")


def report(
    runs: Sequence[Training], operators: list[dict[str, Any]], seconds: float, masked: Sequence[str]
) -> dict[str, Any]:
    """Return everything for JSON."""
    return {
        "runs": [
            {"seed": run.settings.seed, "accuracy": run.accuracy, "loss": run.loss, "seconds": run.seconds}
            for run in runs
        ],
        "accuracy": sum(run.accuracy for run in runs) / len(runs),
        "shuffled_labels": runs[0].settings.shuffle_labels,
        "epochs": runs[0].settings.epochs,
        "masked": list(masked),
        "seconds": seconds,
        "operators": operators,
    }


def operator_rows(counts: Any) -> list[dict[str, Any]]:
    """Return which operators ran, in which form, how often, and who served them; the most frequent first."""
    return [
        {"op": op, "form": form, "calls": calls, "served_by": served_by}
        for (op, form, served_by), calls in counts.calls.most_common()
    ]
