"""Time the bounds: ``python -m benchmarks.bounds [--device cuda] [--weights FOLDER] [--growth]``.

Prints a table for gamma = inf and one for gamma = 0.1, each with ours beside the baseline in one
run: all layers and margins of real images by DeepPoly. The baseline of the first is DeepPoly as
published, every neuron of one image substituted back to the input and no intervals; that of the
second is the paper's way, one linear program (HiGHS) for each neuron that is open, and each side.
Both are run on a sample of neurons and scaled up. Networks are trained: two that come with the
package, and ARCHITECTURE files in FOLDER, as `python -m warpcert.train` writes them; where those
are missing, their weights are random, which says little, and the table says so.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import torch
from torch import Tensor

import warpcert as wc
from benchmarks.measure import exponent, peak, seconds
from warpcert.bound import DeepPoly, margin_rows
from warpcert.bound.layers import bound_layers
from warpcert.bound.substitution import Substitution
from warpcert.train.architecture import build
from warpcert.train.weights import load_weights

PROGRAM_IMAGES = 4
"""Images whose programs are sampled: they differ, and the first digit is a thin one."""

SHAPES = {"mnist": (1, 28, 28), "cifar10": (3, 32, 32)}


@dataclass(frozen=True)
class Case:
    """A network, the images it is for, and where its weights are from."""

    name: str
    dataset: str
    architecture: str

    def network(self, folder: str | None) -> tuple[wc.Network, str]:
        """The network, and a word on its weights."""
        if self.name in ("mnist-convsmall", "cifar10-convsmall"):
            return wc.load_network(f"{self.name}-ibp"), "IBP"
        torch.manual_seed(0)
        module = build(self.architecture, SHAPES[self.dataset])
        path = None if folder is None else Path(folder) / f"{self.name}.npz"
        if path is not None and path.exists():
            load_weights(module, path)
        word = "IBP" if path is not None and path.exists() else "random"
        return wc.Network.from_module(module.eval(), SHAPES[self.dataset]), word


CASES = (
    Case("mnist-convsmall", "mnist", "ConvSmall"),
    Case("cifar10-convsmall", "cifar10", "ConvSmall"),
    Case("mnist-convbig", "mnist", "ConvBig"),
    Case("cifar10-resnet", "cifar10", "ResNet"),
)


@cache
def problem(name: str, folder: str | None, device: str) -> tuple[wc.Network, str, Tensor, Tensor]:
    """Network, word on its weights, and its data set's first images and labels."""
    case = next(case for case in CASES if case.name == name)
    network, word = case.network(folder)
    images, labels = wc.load_images(f"{case.dataset}:0-99")
    return network.to(device), word, images.to(device), labels.to(device)


def run(
    name: str, folder: str | None, device: str, count: int, delta: float, gamma: float
) -> wc.Bounds:
    """Bound the first images of a case."""
    network, _, images, labels = problem(name, folder, device)
    rows = margin_rows(labels[:count], network.classes)
    return DeepPoly()(
        network, wc.DeformedImage(images[:count], wc.Threat("inf", delta, gamma)), rows
    )


def open_neurons(bounds: wc.Bounds) -> float:
    """How many ReLUs of an image are neither on nor off, on the average."""
    found = [((x.lower < 0) & (x.upper > 0)).flatten(1).sum(1) for x in bounds.layers.values()]
    return float(torch.stack(found).sum(0).double().mean())


def published(name: str, folder: str | None, device: str, delta: float, sample: int) -> float:
    """Seconds for one image by DeepPoly as published, from a sample of each layer's neurons."""
    network, _, images, _ = problem(name, folder, device)
    inputs = wc.DeformedImage(images[:1], wc.Threat("inf", delta))
    known = bound_layers(network.to(dtype=torch.float64), inputs)
    total = 0.0
    for value in layers(network):
        size = known.values[value].lower[0].numel()
        rows = sampled(size, sample, known.values[value].lower[0].shape, device)
        stage = Substitution(intersect=False)
        spent = seconds(partial(stage, known, inputs, rows, value), device, 0.0)
        total += spent * size / (rows.shape[1] // 2)
    return total


def programs(name: str, folder: str | None, delta: float, gamma: float, sample: int) -> float:
    """Seconds per image by linear programs, from samples of some images' open neurons."""
    network, _, images, labels = problem(name, folder, "cpu")
    each = [
        image_programs(network, images[k : k + 1], labels[k : k + 1], delta, gamma, sample)
        for k in range(PROGRAM_IMAGES)
    ]
    return sum(each) / len(each)


def image_programs(
    network: wc.Network, image: Tensor, label: Tensor, delta: float, gamma: float, sample: int
) -> float:
    """Seconds for one image by linear programs, from a sample of each layer's open neurons."""
    from warpcert.solve import Polyhedral

    threat = wc.Threat("inf", delta, gamma)
    inputs = Polyhedral(wc.DeformedImage(image, threat, relaxation="planes"))
    free = wc.DeformedImage(image, wc.Threat("inf", delta))
    known = bound_layers(network.to(dtype=torch.float64), free, [Substitution()])
    total = 0.0
    for value in layers(network):
        box = known.values[value]
        open_ = ((box.lower < 0) & (box.upper > 0)).flatten().nonzero().squeeze(1)
        if not len(open_):
            continue
        rows = sampled(box.lower[0].numel(), sample, box.lower[0].shape, "cpu", open_)
        start = time.perf_counter()
        Substitution()(known, inputs, rows, value)
        total += (time.perf_counter() - start) / rows.shape[1] * 2 * len(open_)
    rows = margin_rows(label, network.classes)
    start = time.perf_counter()
    Substitution()(known, inputs, rows, len(network))
    return total + time.perf_counter() - start


def layers(network: wc.Network) -> list[int]:
    """The values that activations take."""
    return sorted({network.steps[k - 1].inputs[0] for k in network.activations})


def sampled(
    size: int, sample: int, shape: torch.Size, device: str, among: Tensor | None = None
) -> Tensor:
    """Both sides of some neurons, as rows (1, 2 n, ...)."""
    pool = torch.arange(size) if among is None else among
    picks = pool[torch.randperm(len(pool), generator=torch.Generator().manual_seed(0))[:sample]]
    basis = torch.zeros(1, len(picks), size, dtype=torch.float64)
    basis[0, torch.arange(len(picks)), picks] = 1.0
    return torch.cat([basis, -basis], dim=1).unflatten(2, shape).to(device)


def table(options: argparse.Namespace, gamma: float) -> None:
    """Ours and the baseline, for all networks."""
    print(f"\ngamma {gamma:g}, Tinf, delta {options.delta:g}")
    show(
        ["ratio", "network", "weights", "ReLUs", "open", "batch 1 s", "batch", "s/image",
         "baseline s", "MiB"]
    )  # fmt: skip
    for case in CASES:
        if options.only and case.name not in options.only:
            continue
        network, word, *_ = problem(case.name, options.weights, options.device)
        ask = (case.name, options.weights, options.device)
        single = seconds(partial(run, *ask, 1, options.delta, gamma), options.device, 0.0)
        best, batch = single, 1
        for count in options.batches:
            if count == 1 or single * count > options.patience:
                continue
            took = seconds(partial(run, *ask, count, options.delta, gamma), options.device, 0.0)
            if took / count < best:
                best, batch = took / count, count
        if options.device == "cpu":
            extra = (options.delta, gamma)
            used = peak(run, (*ask, batch, *extra), (*ask, 1, 0.01, *extra[1:]))
        else:
            torch.cuda.reset_peak_memory_stats()
            run(*ask, batch, options.delta, gamma)
            used = torch.cuda.max_memory_allocated() / 2**20
        count = open_neurons(run(*ask, min(batch, 4), options.delta, gamma))
        slow = 0.0
        if gamma == float("inf"):
            slow = published(*ask, options.delta, options.sample)
        elif options.programs:
            slow = programs(case.name, options.weights, options.delta, gamma, options.programs)
        ratio = f"{slow / best:,.0f}" if slow else "-"
        show(
            [ratio, case.name, word, f"{network.neurons:,}", f"{count:,.0f}", f"{single:.3g}",
             f"{batch}", f"{best:.3g}", f"{slow:.3g}" if slow else "-", f"{used:,.0f}"]
        )  # fmt: skip


def convsmall(side: int, width: int, rows: int, gamma: float) -> None:
    """Bound one noisy image by a random ConvSmall of another size, for its growth."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, width, 4, 2), torch.nn.ReLU(), torch.nn.Conv2d(width, 2 * width, 4, 2),
        torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(rows), torch.nn.ReLU(),
        torch.nn.Linear(rows, 10),
    )  # fmt: skip
    module(torch.zeros(1, 1, side, side))
    network = wc.Network.from_module(module.eval(), (1, side, side))
    images = torch.rand(1, 1, side, side)
    inputs = wc.DeformedImage(images, wc.Threat("inf", 0.1, gamma))
    DeepPoly()(network, inputs, margin_rows(torch.tensor([0]), 10))


def growth(gamma: float) -> None:
    """How time and memory grow with one size, the others fixed: fitted exponents."""
    print(f"\ngrowth of time and memory, gamma {gamma:g}: cost ~ size**p, random ConvSmall")
    sweeps = {
        "pixels": [((side, 16, 100), side * side) for side in (20, 28, 40, 56)],
        "neurons of convolutions": [((28, width, 100), width) for width in (8, 16, 32, 64)],
        "dense neurons (rows of the whole image)": [
            ((28, 16, rows), rows) for rows in (50, 100, 200, 400)
        ],
    }
    for name, settings in sweeps.items():
        times, spaces, sizes = [], [], []
        for setting, size in settings:
            work = (*setting, gamma)
            times.append(seconds(partial(convsmall, *work), "cpu", 0.0))
            spaces.append(max(1.0, peak(convsmall, work, (12, 2, 4, gamma))))
            sizes.append(float(size))
        powers = f"time p = {exponent(sizes, times):.2f}, memory p = {exponent(sizes, spaces):.2f}"
        steps = zip(sizes, times, spaces, strict=True)
        each = ", ".join(f"{size:,.0f}: {t:.2f} s {m:.0f} MiB" for size, t, m in steps)
        print(f"{name}: {powers} ({each})", flush=True)


def show(cells: list[str]) -> None:
    """Print one row, as soon as it is known."""
    widths = (7, 18, 8, 8, 7, 10, 6, 9, 11, 8)
    print(*(cell.rjust(w) for cell, w in zip(cells, widths, strict=True)), flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--delta", type=float, default=0.4)
    parser.add_argument("--gamma", type=float, default=0.1)
    parser.add_argument("--weights", metavar="FOLDER", help="NAME.npz of larger networks")
    parser.add_argument("--only", nargs="*", help="names of networks")
    parser.add_argument("--batches", type=int, nargs="*", default=[1, 4, 16, 64])
    parser.add_argument("--patience", type=float, default=60.0, help="seconds for one batch")
    parser.add_argument("--sample", type=int, default=16, help="neurons of a layer, published way")
    parser.add_argument("--programs", type=int, default=3, help="neurons of a layer, by HiGHS")
    parser.add_argument("--growth", action="store_true", help="fit exponents as well")
    options = parser.parse_args()
    print(f"{options.device}, {torch.get_num_threads()} threads, float64, DeepPoly")
    table(options, float("inf"))
    table(options, options.gamma)
    if options.growth:
        for gamma in (float("inf"), options.gamma):
            growth(gamma)


if __name__ == "__main__":
    main()
