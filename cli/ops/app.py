"""The group `tt ops` with its commands."""

from __future__ import annotations

import typer

from tt.cli.ops.check import check
from tt.cli.ops.coverage import show_coverage
from tt.cli.ops.explain import explain
from tt.cli.ops.list import list_ops
from tt.cli.ops.pages import write_pages
from tt.cli.ops.show import show
from tt.cli.options import examples, help_if_alone

__all__ = ["app"]

app = typer.Typer()


@app.callback(invoke_without_command=True)
def ops(context: typer.Context) -> None:
    """The operators: what there is, who serves it, and whether all is as it should be."""
    help_if_alone(context)


app.command(
    "list", epilog=examples("tt ops list --missing --backend cuda", "tt ops list --kind reduction --json")
)(list_ops)
app.command("show", epilog=examples("tt ops show softmax", "tt ops show max.dim"))(show)
app.command("check", epilog=examples("tt ops check", "tt ops check --backend cpu --run --ops 'linalg_*'"))(
    check
)
app.command(
    "explain",
    epilog=examples(
        "tt ops explain add cpu:float32 cpu:int64", "tt ops explain mul 'cpu:float32[2,3]+autograd' 2.5"
    ),
)(explain)
app.command("coverage", epilog=examples("tt ops coverage", "tt ops coverage --html coverage.html"))(
    show_coverage
)
app.command(
    "pages", epilog=examples("tt ops pages build/pages", "tt ops pages docs/operators --namespace acme")
)(write_pages)
