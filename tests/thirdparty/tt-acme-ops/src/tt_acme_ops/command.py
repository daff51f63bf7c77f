"""The command `tt acme`: whether the operators of this package work on this machine."""

from typing import Annotated

import typer


def calls():
    """Return a call of every operator: its name and arguments."""
    import tt

    x = tt.tensor([[0.5, -1.5, 2.0, 0.25], [1.0, 3.0, -0.75, -2.0], [0.125, 1.5, -1.0, 4.0]])
    return {
        "acme::twice": (x,),
        "acme::soft_clip": (x, 2.0),
        "acme::decay_": (x, 0.25),
        "acme::scaled_add": (x, x[0], 3),
        "acme::moving_average": (x, 2),
    }


def acme(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these operators.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show what was not looked at, too.")] = False,
) -> None:
    """Check the operators of acme with opcheck; exit with 1 if something is wrong."""
    from tt.library import errors, opcheck

    known = calls()
    for name in names or ():
        if name not in known:
            raise errors.UnknownNameError("operator of acme", name, known)
    failed = 0
    for name in names or known:
        *positional, scale = known[name] if name == "acme::scaled_add" else (*known[name], None)
        kwargs = {} if scale is None else {"scale": scale}
        report = opcheck(name, positional, kwargs, raise_exception=False)
        if not report.ok:
            failed += 1
            typer.echo(str(report))
            continue
        typer.echo(f"{name}: {len(report)} tests passed")
        if verbose:
            for test, notes in report.notes.items():
                typer.echo("".join(f"  {test}: {note}\n" for note in notes), nl=False)
    if failed:
        raise typer.Exit(1)
