"""Time the geometry: ``python -m benchmarks.geometry [--device cuda] [--delta 0.5] [--rows 100]``.

Prints one table: for each task and image size the ratio of the baseline's time to ours, both times
and our peak memory. The baseline (benchmarks/baseline.py) treats a sample of pixels one by one on
one core and is scaled up; its bounds and planes are compared with ours on the way. Images are
real: MNIST digits and CIFAR-10 photos, one and many, and a 224 x 224 mosaic of 49 photos.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

import warpcert as wc
from benchmarks.measure import peak, seconds

AGREE = 1e-6
"""How far a float32 answer of ours and the baseline's float64 answer may be apart."""

Task = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Result:
    """One row of the table; times in seconds, memory in MiB."""

    task: str
    size: str
    ours: float
    baseline: float
    memory: float

    def cells(self) -> list[str]:
        """The row as text, the ratio first."""
        ratio = f"{self.baseline / self.ours:,.0f}" if self.baseline else "-"
        slow = f"{self.baseline:.3g}" if self.baseline else "-"
        return [ratio, self.task, self.size, f"{self.ours:.2g}", slow, f"{self.memory:,.0f}"]


def images() -> dict[str, Tensor]:
    """Real images of three sizes, float32 (B, C, H, W)."""
    photos, _ = wc.load_images("cifar10:0-48")
    mosaic = photos.view(7, 7, 3, 32, 32).permute(2, 0, 3, 1, 4).reshape(1, 3, 224, 224)
    digits, _ = wc.load_images("mnist:0-99")
    return {
        "28x28": digits[:1],
        "100 x 28x28": digits,
        "32x32x3": photos[:1],
        "49 x 32x32x3": photos,
        "224x224x3": mosaic,
    }


def problem(size: str, rows: int) -> tuple[Tensor, Tensor]:
    """Images of a size, and random rows for them."""
    x = images()[size]
    shape = (x.shape[0], rows, *x.shape[1:])
    return x, torch.randn(shape, generator=torch.Generator().manual_seed(0))


def tasks(delta: float) -> dict[str, Task]:
    """What is timed: images and rows in, a tensor out."""

    def interval(threat: wc.Threat, x: Tensor, _: Tensor) -> Tensor:
        box = wc.pixel_bounds(x, threat)
        return torch.stack([box.lower, box.upper], dim=-1)

    def planes(threat: wc.Threat, x: Tensor, _: Tensor) -> Tensor:
        return torch.cat(wc.pixel_planes(x, threat), dim=-1)

    def support(threat: wc.Threat, x: Tensor, rows: Tensor) -> Tensor:
        return wc.support(x, threat, rows)

    threats = {name: wc.Threat(name, delta) for name in ("inf", "1", "2")}
    named: dict[str, Task] = {}
    for kind in (interval, planes, support):
        for name, threat in threats.items():
            named[f"{kind.__name__} T{name}"] = partial(kind, threat)
    return named


def task_on(name: str, size: str, delta: float, rows: int, edge: int | None = None) -> None:
    """Do a task on images of a size, or on their corners."""
    x, a = problem(size, rows)
    tasks(delta)[name](x[..., :edge, :edge].contiguous(), a[..., :edge, :edge].contiguous())


def baseline(name: str, x: Tensor, a: Tensor, answer: Tensor, delta: float, sample: int) -> float:
    """Seconds the baseline would need for the whole image, from a sample of pixels; 0 if none."""
    from benchmarks.baseline import pixel_interval, pixel_plane, quiet_solver

    kind, _, norm = name.partition(" T")
    if kind == "planes" and norm != "inf":
        return 0.0
    count, channels, height, width = x.shape
    picture = np.pad(x[0].double().numpy(), ((0, 0), (1, 1), (1, 1)), mode="edge")
    weights = a[0].double().numpy()
    rng = np.random.default_rng(0)
    items = weights.shape[0] if kind == "support" else channels
    picks = [tuple(int(rng.integers(n)) for n in (items, height, width)) for _ in range(sample)]
    patches = [picture[:, i : i + 3, j : j + 3] for _, i, j in picks]
    solver = quiet_solver()
    start = time.perf_counter()
    for (item, i, j), patch in zip(picks, patches, strict=True):
        if kind == "planes":
            constant, _, _ = pixel_plane(patch[item], delta, solver)
            above, _, _ = pixel_plane(-patch[item], delta, solver)
            got = torch.tensor([constant, -above], dtype=torch.float64)
            wanted = answer[0, item, i, j, [0, 3]].double()
        elif kind == "interval":
            got = torch.tensor(pixel_interval(patch[item], float(norm), delta))
            wanted = answer[0, item, i, j].double()
        else:
            joint = np.tensordot(weights[item, :, i, j], patch, axes=1)
            got = wanted = torch.tensor(pixel_interval(joint, float(norm), delta)[0])  # a part
        if not bool((got - wanted).abs().max() < AGREE):
            raise SystemExit(f"{name}: the baseline has {got}, we have {wanted}")
    return (time.perf_counter() - start) / sample * count * items * height * width


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--delta", type=float, default=0.5, help="at most 1, for the baseline")
    parser.add_argument("--rows", type=int, default=100, help="rows of the support function")
    parser.add_argument(
        "--sample", type=int, default=300, help="pixels the baseline treats; 0: none"
    )
    options = parser.parse_args()
    if not 0 < options.delta <= 1:
        parser.error("--delta must be in (0, 1]: the baseline knows one ring of cells")
    print(f"delta {options.delta}, {options.device}, {torch.get_num_threads()} threads, float32")
    show(["ratio", "task", "size", "ours s", "baseline s", "peak MiB"])
    for size, x in images().items():
        few = max(1, options.rows * 1000 // x.numel()) if x.numel() > 10_000 else options.rows
        _, a = problem(size, few)
        there, rows = x.to(options.device), a.to(options.device)
        for name, task in tasks(options.delta).items():
            if options.device != "cpu":
                torch.cuda.reset_peak_memory_stats()
            ours = seconds(partial(task, there, rows), options.device)
            if options.device == "cpu":
                asked = (name, size, options.delta, few)
                used = peak(task_on, asked, (*asked, 8))
            else:
                used = torch.cuda.max_memory_allocated() / 2**20
            answer = task(there, rows).cpu()
            slow = options.sample and baseline(name, x, a, answer, options.delta, options.sample)
            label = f"{name}, {few} rows" if name.startswith("support") else name
            show(Result(label, size, ours, slow, used).cells())


def show(cells: list[str]) -> None:
    """Print one row, as soon as it is known."""
    widths = (7, 24, 14, 8, 11, 9)
    print(*(cell.rjust(w) for cell, w in zip(cells, widths, strict=True)), flush=True)


if __name__ == "__main__":
    main()
