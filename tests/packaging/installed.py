"""Tries an installed tt where neither its source nor a compiler is needed.

    python -I tests/packaging/installed.py --form compiled

With -I Python looks for tt where it is installed, not in the checkout.  The program needs nothing but tt: it runs the
examples of every operator, trains a network, saves and loads it, and runs the commands that a new user runs.
"""

from __future__ import annotations

import argparse
import doctest
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from pathlib import Path

import tt
from tt import nn
from tt.backends.cpu.native import loading
from tt.core import compiled
from tt.core.schema.operator_texts import further_examples
from tt.core.schema.snapshot import definitions

COMMANDS = (
    ["env"],
    ["plugins", "list"],
    ["ops", "check"],
    ["ops", "coverage"],
    ["ops", "show", "softmax"],
    ["demo"],
)
COMPILERS = ("cc", "gcc", "clang", "c99", "cl")


def check_place() -> None:
    """Fail unless tt is an installed package."""
    place, site = Path(tt.__file__), Path(sysconfig.get_path("platlib"))
    if not place.is_relative_to(site):
        raise SystemExit(f"tt is imported from {place}, not from {site}")
    print(f"{place.parent}, Python {sys.version.split()[0]}, {sysconfig.get_platform()}")


def check_form(form: str) -> None:
    """Fail unless hot modules and native kernels run in the form."""
    for status in (compiled.status(), loading.status()):
        print(status.reason)
        if status.active != (form == "compiled"):
            raise SystemExit(f"the installation is not {form}")
    found = [name for name in COMPILERS if shutil.which(name)]
    print("compilers on the path:", ", ".join(found) or "none")


def run_examples() -> None:
    """Run the examples of all operators."""
    examples = [(d.name, d.example) for d in definitions().values()] + list(further_examples().items())
    failed = 0
    parser = doctest.DocTestParser()
    for name, text in examples:
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
        with warnings.catch_warnings(action="ignore"):
            failed += runner.run(parser.get_doctest(text, {"tt": tt}, name, None, 0)).failed
    print(f"{len(examples)} examples of operators, {failed} failed")
    if failed or len(examples) < 1000:
        raise SystemExit("examples of operators fail, or are missing")


def train() -> None:
    """Train a network, save it and load it."""
    tt.manual_seed(0)
    x = tt.linspace(-1, 1, 256).reshape(-1, 1)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = tt.optim.AdamW(model.parameters(), lr=0.02)
    for _ in range(300):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), x**2)
        loss.backward()
        optimizer.step()
    if not loss.item() < 1e-3:
        raise SystemExit(f"the loss of a trained network is {loss.item()}")
    with tempfile.TemporaryDirectory() as folder:
        tt.save(model.state_dict(), Path(folder, "model.pt"))
        other = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
        other.load_state_dict(tt.load(Path(folder, "model.pt")))
    if not tt.equal(model(x), other(x)):
        raise SystemExit("a saved network computes something else")
    print(f"a network is trained, saved and loaded; its loss is {loss.item():.1e}")


def run_commands() -> None:
    """Run commands of tt."""
    script = Path(sysconfig.get_path("scripts"), "tt.exe" if os.name == "nt" else "tt")
    for words in COMMANDS:
        done = subprocess.run([str(script), *words], capture_output=True, text=True, check=False)
        print(f"tt {' '.join(words)}: exit status {done.returncode}")
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)


def main() -> None:
    """Run everything; exit with a message if something fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--form", choices=("compiled", "interpreted"), required=True, help="the expected form"
    )
    form = parser.parse_args().form
    check_place()
    check_form(form)
    run_examples()
    train()
    run_commands()


if __name__ == "__main__":
    main()
