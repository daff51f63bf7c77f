"""A small training step that a CUDA graph can capture as a whole, for comparing replays with plain steps."""

from __future__ import annotations

from typing import Any

__all__ = ["TrainingStep"]


class TrainingStep:
    """Embedding, linear, relu, dropout, cross entropy, their gradients, and a fused step of AdamW.

    Parameters
    ----------
    seed : int
        Of the parameters and of the data.
    rows, width, hidden, words, classes : int
        How large everything is.
    products : bool
        Use products of matrices, which a graph captures only where cuBLASLt is installed.
    """

    def __init__(
        self, seed: int, rows: int = 20, width: int = 16, hidden: int = 32, words: int = 50, classes: int = 7,
        products: bool = True,
    ) -> None:  # fmt: skip
        import tt

        tt.manual_seed(seed)
        shapes = [(words, width), (hidden, width), (hidden,), (classes, hidden)]
        self.products = products
        self.parameters = [tt.randn(*shape, device="cuda") * 0.1 for shape in shapes]
        self.moments = [[tt.zeros_like(p) for p in self.parameters] for _ in range(2)]
        self.steps = [tt.zeros((), device="cuda") for _ in self.parameters]
        self.words = tt.randint(0, words, (rows,), device="cuda")
        self.targets = tt.randint(0, classes, (rows,), device="cuda")

    def _linear(self, x: Any, weight: Any) -> Any:
        import tt

        return tt.nn.functional.linear(x, weight) if self.products else (x.unsqueeze(1) * weight).sum(2)

    def __call__(self) -> Any:
        """Take a step; return the loss before it."""
        import tt

        functional = tt.nn.functional
        leaves = [parameter.detach().requires_grad_() for parameter in self.parameters]
        table, weight, bias, last = leaves
        x = functional.embedding(self.words, table)
        x = functional.dropout(functional.relu(self._linear(x, weight) + bias), 0.3)
        loss = functional.cross_entropy(self._linear(x, last), self.targets)
        loss.backward()
        first, second = self.moments
        with tt.no_grad():
            for number in self.steps:
                number.add_(1)
            tt.ops._fused_adamw_(
                self.parameters, [leaf.grad for leaf in leaves], first, second, [], self.steps, lr=0.01, beta1=0.9,
                beta2=0.99, weight_decay=0.01, eps=1e-8, amsgrad=False, maximize=False,
            )  # fmt: skip
        return loss.detach()

    def state(self) -> list[Any]:
        """Return copies of all that a step changes, on the CPU."""
        return [
            tensor.cpu() for tensor in (*self.parameters, *self.moments[0], *self.moments[1], *self.steps)
        ]

    def start_from(self, state: list[Any]) -> None:
        """Continue from what `state` returned."""
        tensors = (*self.parameters, *self.moments[0], *self.moments[1], *self.steps)
        for tensor, value in zip(tensors, state, strict=True):
            tensor.copy_(value)
