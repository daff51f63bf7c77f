"""Accumulate gradients of branches that only some ranks use: python gloo_branches.py LIBRARY RANK SIZE FILE."""

from __future__ import annotations

import importlib
import itertools
import json
import sys

USED = ((0,), (0, 1), (0, 1, 2))


def main():
    """Print the gradients after each step, for all ways to use branches without and with communication."""
    library, rank, size, file = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    lib = importlib.import_module(library)
    dist = importlib.import_module(f"{library}.distributed")
    parallel = importlib.import_module(f"{library}.nn.parallel")
    dist.init_process_group("gloo", store=dist.FileStore(file, size), rank=rank, world_size=size)

    class Model(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.branches = lib.nn.ModuleList([lib.nn.Linear(2, 1, bias=False) for _ in range(3)])
            with lib.no_grad():
                for at, branch in enumerate(self.branches):
                    branch.weight.fill_(at + 1.0)

        def forward(self, x, used):
            return sum(self.branches[at](x).sum() for at in used)

    found = []
    for as_view in (False, True):
        for plans in itertools.product(itertools.product(USED, USED), repeat=2):
            model = parallel.DistributedDataParallel(
                Model(), find_unused_parameters=True, gradient_as_bucket_view=as_view
            )
            first, second = plans[rank]
            steps = []
            for step in range(2):
                x = lib.tensor([[1.0 + rank, 2.0 + step]])
                with model.no_sync():
                    model(x, first).backward()
                model(x * 2, second).backward()
                gradients = [parameter.grad for parameter in model.parameters()]
                steps.append([None if each is None else each.reshape(-1).tolist() for each in gradients])
                if step == 0 and second == USED[1]:
                    model.zero_grad()
            found.append(steps)
    print(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
