"""accelerate: prepare, accumulation, bfloat16, clipping, saved state, big models on meta, trackers' metrics."""

from __future__ import annotations

import tempfile

import accelerate
import torch
from torch import nn

from tests.ecosystem import kit

REQUIRES = ("accelerate==1.15.0", "safetensors")


def _net():
    return kit.fill(nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 2)))


def _loader(count=12, batch=3):
    data = torch.utils.data.TensorDataset(kit.tensor(count, 6), kit.integers(0, 2, (count,)))
    return torch.utils.data.DataLoader(data, batch_size=batch)


def _fresh(**options):
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerate.state.GradientState._reset_state()
    return accelerate.Accelerator(cpu=True, **options)


def _train(accelerator, steps=2, clip=None):
    net = _net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    net, optimizer, loader, schedule = accelerator.prepare(net, optimizer, _loader(), schedule)
    losses = []
    for _ in range(steps):
        for x, y in loader:
            with accelerator.accumulate(net), accelerator.autocast():
                loss = nn.functional.cross_entropy(net(x), y)
                accelerator.backward(loss)
                if clip and accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(net.parameters(), clip)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            losses.append(accelerator.gather(loss.detach()).mean())
    return losses, schedule.get_last_lr(), accelerator.unwrap_model(net).state_dict()


def prepare():
    return _train(_fresh())


def accumulation():
    return _train(_fresh(gradient_accumulation_steps=2), clip=0.5)


@kit.tolerance(
    rtol=3e-2, atol=2e-2, reason="bfloat16 rounds products at other places, and Adam divides by their size"
)
def mixed_precision():
    accelerator = _fresh(mixed_precision="bf16")
    losses, _, weights = _train(accelerator)
    return losses, [str(value.dtype) for value in weights.values()]


def saved_state():
    accelerator = _fresh()
    net = _net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    net, optimizer, loader = accelerator.prepare(net, optimizer, _loader())
    x, y = next(iter(loader))

    def step():
        accelerator.backward(nn.functional.cross_entropy(net(x), y))
        optimizer.step()
        optimizer.zero_grad()

    step()
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        step()
        first = [p.detach().clone() for p in net.parameters()]
        accelerator.load_state(folder)
        step()
    return first, list(net.parameters())


def gathering():
    accelerator = _fresh()
    x = kit.tensor(4, 3)
    gathered = accelerator.gather_for_metrics((x, torch.arange(4)))
    padded = accelerator.pad_across_processes(x, dim=1)
    reduced = accelerator.reduce(x, reduction="sum")
    return (
        gathered,
        padded,
        reduced,
        accelerator.num_processes,
        accelerator.is_main_process,
        str(accelerator.device),
    )


def utilities():
    moved = accelerate.utils.send_to_device({"x": [kit.tensor(2)], "y": (kit.tensor(1), "text")}, "cpu")
    joined = accelerate.utils.concatenate([{"x": kit.tensor(2, 2)}, {"x": kit.tensor(1, 2)}])
    sizes = accelerate.utils.compute_module_sizes(_net())
    return moved["x"], joined, dict(sizes), accelerate.utils.find_batch_size([kit.tensor(5, 1)])


def batch_size_is_found():
    tried = []

    @accelerate.utils.find_executable_batch_size(starting_batch_size=8)
    def train(batch_size):
        tried.append(batch_size)
        if batch_size > 3:
            raise RuntimeError("CUDA out of memory.")
        return batch_size

    return train(), tried


def on_meta():
    with accelerate.init_empty_weights():
        net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 2))
    devices = sorted({str(p.device) for p in net.parameters()})
    with tempfile.TemporaryDirectory() as folder:
        accelerate.Accelerator(cpu=True).save_model(_net(), folder)
        accelerate.load_checkpoint_in_model(net.to_empty(device="cpu"), folder)
    return devices, net(kit.tensor(2, 6))


def dispatched():
    net = accelerate.dispatch_model(_net(), device_map={"": "cpu"})
    offloaded = accelerate.cpu_offload(_net(), execution_device=torch.device("cpu"))
    x = kit.tensor(2, 6)
    return net(x), offloaded(x), sorted({str(p.device) for p in offloaded.parameters()})


def skipped_batches():
    loader = _fresh().prepare(_loader())
    return [x for x, _ in accelerate.skip_first_batches(loader, 2)]
