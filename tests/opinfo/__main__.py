"""python -m tests.opinfo [--check NAME] [OPERATOR ...]: compare operators with PyTorch's database of operators."""

from __future__ import annotations

import argparse
import sys

from tests.opinfo.checks import CHECKS
from tests.opinfo.samples import OPERATORS, SEED


def main() -> int:
    """Print the kinds of mismatches of each operator, with one call as an example."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "operators", nargs="*", help="names, with or without their variant; all if none is given"
    )
    parser.add_argument(
        "--check", action="append", choices=list(CHECKS), help="only this check; may be repeated"
    )
    parser.add_argument("--limit", type=int, default=6, help="mismatches shown of one operator and check")
    options = parser.parse_args()
    wanted = [
        key
        for key, info in OPERATORS.items()
        if not options.operators or key in options.operators or info.name in options.operators
    ]
    unknown = [n for n in options.operators if not any(n in (k, i.name) for k, i in OPERATORS.items())]
    if unknown:
        parser.error(f"not in the database: {', '.join(unknown)}")
    print(f"seed {SEED} (TT_TEST_SEED={SEED} repeats it)")
    failed = 0
    for key in wanted:
        for check in options.check or CHECKS:
            mismatches = list(CHECKS[check](key))
            failed += bool(mismatches)
            shown = set()
            for mismatch in mismatches:
                kind = mismatch.check, mismatch.dtype, mismatch.problem[:30]
                if kind in shown or len(shown) >= options.limit:
                    continue
                shown.add(kind)
                print(f"{key}: {mismatch}", flush=True)
            if mismatches:
                print(f"{key}: {check}: {len(mismatches)} mismatches", flush=True)
    print(f"{len(wanted)} operators, {failed} checks failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
