"""The engine: walks the graph from results to leaves, each node once, without recursion.

Nodes run in descending order of their sequence numbers.  An edge always leads to a node that was made earlier, so when
a node's turn comes, all gradients of its results are there.  This is a hot module: plain Python that Cython compiles
with the C types of `engine.pxd` where it can.

Note [Who owns a gradient]
--------------------------
A gradient may be a tensor that something else holds: `z = x + y` sends the same tensor to x and to y.  A leaf adopts
the tensor as its `.grad` only if nothing else holds it, its storage or its array; else it takes a copy.  The engine
therefore keeps a gradient in one list and nowhere else when the leaf's turn comes.  A sum that the engine has made
itself is its own and grows in place.

The first `.grad` has the strides of its leaf, if the leaf is dense, and is row-major otherwise: an optimizer then reads
both in one order, and a program that chose channels_last for its weights finds their gradients so.

Note [The node that follows]
----------------------------
In a chain the node that gets a gradient is the next one to run.  Where its sequence number is above all that wait, it
runs at once, and its gradients never enter the heap.

Note [Nodes without a gradient]
-------------------------------
A node may have no gradient for an argument: a `Function` returned None, or a result was not used.  What lies behind
runs all the same, with None, unless other paths bring a gradient: hooks see that there is none, and the `backward` of a
`Function` gets zeros.  So every node that the roots lead to runs, and a graph is used up as a whole.

Note [Leaves with hooks run early]
----------------------------------
Leaves come last in the order, and what hooks of theirs do (start to average gradients, update parameters and free
gradients) is to be done while the pass goes on.  So where such hooks exist, the edges to their leaves are counted
before a pass, and a leaf runs as soon as the last node has run that leads to it.

Note [Passes inside of passes]
------------------------------
The backward of a `Function` may run a backward pass, whose Functions run one, and so on.  Each takes its part of the
thread's stack.  Where more passes run than a program's threads have at a time, `nesting` counts those of the thread and
lets every few of them run in a thread of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any, Final

from tt.core.tensor.base import TensorBase
from tt.plugins.autograd.backward import nesting, validate_grads
from tt.plugins.autograd.record import saved
from tt.plugins.autograd.record.graph import STATE, AccumulateGrad, Node
from tt.plugins.autograd.record.refcount import ALONE, references

FEW: Final = 10
"""So many passes run without being counted in their threads."""


class Buffers:
    """The gradients of a node's results that have arrived so far.

    Attributes
    ----------
    node : Node
        Whose results.
    gradients : list of (Tensor or None)
        One for each result.
    owned : int
        Bit set of the results whose gradient is a sum made here.
    """

    __slots__ = ("gradients", "node", "owned")

    node: Node
    gradients: list[Any]
    owned: int

    def __init__(self, node: Node) -> None:
        self.node = node
        self.gradients = [None] * node.outputs
        self.owned = 0


class Pass:
    """One backward pass.

    Parameters
    ----------
    keep_graph : bool
        Whether nodes keep their saved values.
    create_graph : bool
        Whether the pass is itself recorded.
    captures : dict of (node, number) to list of int, or None
        The places in the graph whose gradients are the result, and their positions in it.
    needed : set of Node, or None
        The nodes on the way to the captures; None: all.
    """

    __slots__ = (
        "captures", "create_graph", "early", "following", "following_gradients", "heap", "keep_graph", "needed",
        "results", "waiting",
    )  # fmt: skip

    keep_graph: bool
    create_graph: bool
    captures: dict[tuple[Node, int], Sequence[int]] | None
    needed: set[Node] | None
    results: list[Any]
    heap: list[int]
    waiting: dict[int, Buffers]
    following: Node | None
    following_gradients: list[Any] | None
    early: dict[Node, int] | None

    def __init__(
        self,
        keep_graph: bool,
        create_graph: bool,
        captures: dict[tuple[Node, int], Sequence[int]] | None,
        needed: set[Node] | None,
        count: int,
    ) -> None:
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.captures = captures
        self.needed = needed
        self.results = [None] * count
        self.heap = []
        self.waiting = {}
        self.following = None
        self.following_gradients = None
        self.early = None

    def send(self, node: Node, number: int, gradient: Any) -> None:
        """Add a gradient to those that wait for a node's turn."""
        buffers = self.waiting.get(node.sequence)
        if buffers is None:
            buffers = Buffers(node)
            self.waiting[node.sequence] = buffers
            # `heapq` is a min-heap: negated, the node that was made last comes out first.
            heappush(self.heap, -node.sequence)
        held = buffers.gradients[number]
        if held is None:
            buffers.gradients[number] = gradient
        # Only a sum that was made here may grow: the first gradient may be held elsewhere.  A recorded pass
        # needs each term as it was.
        elif (
            buffers.owned >> number & 1 and not self.create_graph and validate_grads.can_grow(held, gradient)
        ):
            held.add_(gradient)
        else:
            buffers.gradients[number] = validate_grads.add_sent(held, gradient)
            buffers.owned |= 1 << number

    def send_none(self, node: Node) -> None:
        """Let a node have its turn, though no gradient comes from here; see Note [Nodes without a gradient]."""
        if node.sequence not in self.waiting:
            self.waiting[node.sequence] = Buffers(node)
            heappush(self.heap, -node.sequence)

    def run(self) -> list[Any]:
        """Run until no gradient waits."""
        heap = self.heap
        waiting = self.waiting
        while True:
            node: Node | None = self.following
            gradients: Any  # a list; None lets go of it
            if node is not None:
                gradients = self.following_gradients
                self.following = self.following_gradients = None
            elif heap:
                sequence = -heappop(heap)
                # A heap has no removal, so a leaf that has run early leaves its number behind.
                if self.early is not None and sequence not in waiting:
                    continue  # a leaf that has run early
                buffers = waiting.pop(sequence)
                node = buffers.node
                gradients = buffers.gradients
                # From here on `gradients` alone holds them: a leaf counts the references to decide whether it
                # adopts.
                del buffers
            else:
                return self.results
            # As in PyTorch: hooks of tensors change what is captured, hooks of nodes see only what runs.
            if node.extras is not None:
                validate_grads.call_hooks(node, gradients)
            if self.captures is not None and self.capture(node, gradients):
                gradients = node = None
                continue
            if node.extras is not None and node.extras.before:
                validate_grads.call_before_hooks(node, gradients)
            if isinstance(node, AccumulateGrad):
                accumulate(node, gradients, self.create_graph)
                gradients = node = None
                continue
            self.step(node, gradients)
            gradients = None
            if self.early is not None:
                self.run_leaves(node)
            node = None

    def run_leaves(self, node: Node) -> None:
        """Run the leaves that get no more gradients after a node; see Note [Leaves with hooks run early]."""
        early = self.early
        if early is None:
            return
        for target in node.next_nodes:
            if not isinstance(target, AccumulateGrad) or target not in early:
                continue
            # Each edge is counted once, whether a gradient came by it or not: at zero nothing more can come.
            early[target] -= 1
            if early[target]:
                continue
            buffers = self.waiting.pop(target.sequence, None)
            if buffers is None:
                continue  # it is the node that follows
            gradients: Any = buffers.gradients  # a list; None lets go of it
            del buffers
            validate_grads.call_hooks(target, gradients)
            if self.captures is None or not self.capture(target, gradients):
                if target.extras.before:
                    validate_grads.call_before_hooks(target, gradients)
                accumulate(target, gradients, self.create_graph)
            gradients = None

    def capture(self, node: Node, gradients: list[Any]) -> bool:
        """Keep the requested gradients; return whether the node need not run."""
        captures = self.captures
        needed = self.needed
        if captures is None or needed is None:
            return False
        for number in range(len(gradients)):
            positions = captures.get((node, number))
            if positions is not None:
                for position in positions:
                    self.results[position] = gradients[number]
        return node not in needed

    def step(self, node: Node, gradients: list[Any]) -> None:
        """Run one node and send its results on."""
        next_nodes = node.next_nodes
        next_numbers = node.next_numbers
        needed = self.needed
        required = None
        if needed is not None:
            captures = self.captures or {}
            required = tuple(
                [
                    # A formula whose gradient nobody asked for is skipped: for a product it would be half the
                    # work.
                    target is not None and (target in needed or (target, number) in captures)
                    for target, number in zip(next_nodes, next_numbers, strict=True)
                ]
            )
        watched = STATE.anomaly != 0
        results = (
            validate_grads.apply_watched(node, gradients, required)
            if watched
            else node.apply(gradients, required)
        )
        if node.extras is not None and node.extras.after:
            results = validate_grads.call_after_hooks(node, results, gradients)
        # Node by node, not at the end of the pass: what is saved is most of the memory of a training step.
        if not self.keep_graph:
            node.release()
        count = len(next_nodes)
        if len(results) != count:
            validate_grads.raise_count(node, len(results), count)
        held = None
        held_gradient = None
        held_number = 0
        for position in range(count):
            target = next_nodes[position]
            gradient = results[position]
            if target is None or (required is not None and not required[position]):
                continue
            if gradient is None:
                self.send_none(target)
                continue
            number = next_numbers[position]
            # Specs are shared objects: identity decides nearly always, and `fit` compares what differs.
            if target.outputs == 1:
                shape = target.shape
                spec = target.spec
            else:
                shape = target.shape[number]
                spec = target.spec[number]
            if (
                not isinstance(gradient, TensorBase)
                or gradient._spec is not spec
                or gradient._handle.shape != shape
            ):
                gradient = validate_grads.fit(gradient, shape, spec, node, position)
            # The last one is held back: see Note [The node that follows].
            if held is not None:
                self.send(held, held_number, held_gradient)
            held = target
            held_number = number
            held_gradient = gradient
            gradient = None
        if held is None:
            return
        # If the numbers are equal, the node waits already with a gradient for another of its results, or for
        # the same.
        if self.heap and held.sequence <= -self.heap[0]:
            self.send(held, held_number, held_gradient)
            return
        gradients = [None] * held.outputs
        gradients[held_number] = held_gradient
        self.following = held
        self.following_gradients = gradients


def accumulate(node: AccumulateGrad, gradients: list[Any], create_graph: bool) -> None:
    """Add the gradient in `gradients[0]` to `.grad` of a leaf; see Note [Who owns a gradient]."""
    held = node.gradient
    # This second reference makes the leaf take a copy, so what the hooks get stays theirs.
    kept = gradients[0] if node.extras is not None and node.extras.after else None
    if gradients[0] is None or (node.extras is not None and node.extras.frozen):
        pass  # no gradient has come, or the leaf, which required one when the call was recorded, does not now
    elif held is None:
        # The graph holds a recorded gradient as well, and `.grad` may be changed in place.
        if create_graph:
            node.gradient = validate_grads.copy(gradients[0])
        elif references(gradients) == ALONE and alone(gradients[0], node.variable):
            gradient = gradients.pop()
            if gradient._keys & STATE.bit:
                gradient = validate_grads.adopt(gradient)
            else:
                # As `adopt` does, without a call for each parameter of each step.
                gradient._record = None
            node.gradient = gradient
        else:
            node.gradient = validate_grads.copy(validate_grads.adopt(gradients[0]), node.variable)
    # Not in place: the old `.grad` may be part of the graph of an earlier recorded pass.
    elif create_graph:
        node.gradient = validate_grads.add(held, gradients[0])
    elif validate_grads.can_grow(held, gradients[0]) or validate_grads.can_grow_sparse(held, gradients[0]):
        held.add_(gradients[0])
    else:
        node.gradient = validate_grads.add(held, gradients[0])
    if node.extras is not None:
        if node.extras.accumulated:
            validate_grads.call_accumulated_hooks(node)
        if node.extras.after:
            validate_grads.call_after_hooks(node, (), [kept])


def alone(tensor: TensorBase, leaf: Any) -> bool:
    """Return whether only one tensor holds its storage and its array, which is laid out as the leaf."""
    # A view shares memory with its root, whose changes `.grad` would follow.
    if tensor._root is not None:
        return False
    holders = 1  # the tensor, and its storage where that one owns the memory
    if tensor._storage is not None:
        # The list here and the tensor hold the storage; a third holder is another tensor.
        if references([tensor._storage]) != ALONE + 1:
            return False
        holders += tensor._storage.owner is tensor._handle
    if references([tensor._handle]) != ALONE + holders:
        return False
    # Whether each element has its own place in memory, in the order of the leaf's elements.
    spec = tensor._spec
    if spec.layout.name != "strided":
        return validate_grads.owns_parts(tensor)
    if isinstance(leaf, TensorBase) and leaf._spec.backend is spec.backend:
        return bool(spec.backend.is_laid_out_as(tensor._handle, leaf._handle))
    return bool(spec.backend.is_row_major(tensor._handle))


def find_needed(roots: list[Node], captures: list[tuple[Node, int]]) -> set[Node]:
    """Return the nodes that lead from the roots to the captures."""
    targets = {node for node, _ in captures}
    seen = set(roots)
    stack = list(seen)
    while stack:
        for node in stack.pop().next_nodes:
            if node is not None and node not in seen:
                seen.add(node)
                stack.append(node)
    needed: set[Node] = set()
    # Edges lead to lower numbers, so in ascending order each target is decided before the nodes that lead to
    # it.
    for node in sorted(seen, key=lambda n: n.sequence):
        for following in node.next_nodes:
            if following is not None and (following in needed or following in targets):
                needed.add(node)
                break
    return needed


def find_early(roots: list[Node], needed: set[Node] | None) -> dict[Node, int] | None:
    """Count the edges to leaves with hooks, of the nodes that a pass will run; None where there are none."""
    counts: dict[Node, int] = {}
    seen = {root for root in roots if needed is None or root in needed}
    stack = list(seen)
    while stack:
        node = stack.pop()
        for following in node.next_nodes:
            if following is None or (needed is not None and following not in needed):
                continue
            if isinstance(following, AccumulateGrad):
                extras = following.extras
                if extras is not None and (extras.accumulated or extras.after or extras.tensor_hooks):
                    counts[following] = counts.get(following, 0) + 1
            elif following not in seen:
                seen.add(following)
                stack.append(following)
    for root in roots:
        counts.pop(root, None)  # gradients come from outside as well
    return counts or None


def run(
    roots: list[tuple[Node, int]],
    gradients: list[Any],
    keep_graph: bool,
    create_graph: bool,
    captures: list[tuple[Node, int]] | None,
    accumulating: bool,
) -> list[Any]:
    """Run a backward pass.

    Parameters
    ----------
    roots : list of (Node, int)
        Where it starts.
    gradients : list of Tensor
        Those of the roots; the list is emptied.
    keep_graph, create_graph : bool
        As in `tt.autograd.backward`.
    captures : list of (Node, int), or None
        The places whose gradients are wanted; None: all leaves get their `.grad`.
    accumulating : bool
        Whether the captured leaves get their `.grad` instead of the gradients being returned.

    Returns
    -------
    list of (Tensor or None)
        The gradients of the captures.
    """
    requested: dict[tuple[Node, int], Any] | None = None
    needed = None
    if captures is not None:
        needed = find_needed([node for node, _ in roots], captures)
        requested = {}
        if accumulating:
            # The inputs run: leaves accumulate their gradients, other nodes have hooks; `retain_grad` keeps theirs.
            for node, number in captures:
                requested[(node, number)] = ()
                needed.add(node)
        else:
            for position, (node, number) in enumerate(captures):
                requested.setdefault((node, number), []).append(position)
    task = Pass(keep_graph, create_graph, requested, needed, 0 if captures is None else len(captures))
    if STATE.watching == 0:
        results = drive(task, roots, gradients, create_graph)
        if (
            STATE.watching != 0
        ):  # a hook may have queued what runs at the end, for the first time in the process
            from tt.plugins.autograd.backward.multi_hooks import run_callbacks

            run_callbacks()
        return results
    from tt.plugins.autograd.backward.multi_hooks import entered, run_callbacks

    task.early = find_early([node for node, _ in roots], needed)
    # Hooks on several tensors wait for the captured nodes as well: a pass brings gradients there, though
    # these do not run.
    reached = None if needed is None or captures is None else needed.union([node for node, _ in captures])
    with entered([node for node, _ in roots], reached) as running:
        captured = drive(task, roots, gradients, create_graph)
        running.completed = True
        run_callbacks()
    return captured


def drive(task: Pass, roots: list[tuple[Node, int]], gradients: list[Any], create_graph: bool) -> list[Any]:
    """Send the first gradients and run the pass, recording as `create_graph` says."""
    pairs: Any = ()
    forbidden: Any = ()
    if STATE.packing != 0:
        pairs, forbidden = saved.HOOKS.pairs, saved.HOOKS.forbidden
    before = STATE.enable(create_graph)
    STATE.passes += 1
    try:
        # The lists are emptied: the caller's reference would make each root's gradient look shared.
        while roots:
            node, number = roots.pop()
            gradient = gradients.pop()
            task.send(node, number, gradient)
            gradient = None
        if STATE.passes > FEW:
            return nesting.run(task.run)
        return task.run()
    finally:
        STATE.passes -= 1
        STATE.enable(before)
        if STATE.packing != 0:  # a hook may have entered a block and not left it
            saved.leave_opened(pairs, forbidden)
