"""``python -m benchmarks.duals``: steps on duals on a GPU, in one kernel and launched one by one.

Both find the same duals, so their heights are compared as well. Values are random: the time does
not depend on them.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor

from benchmarks.measure import seconds
from warpcert.core.device import name_device
from warpcert.flow import ascent

SIZES = (
    # points, rows, height, width, whether all pixels share the points, steps
    (9, 64, 28, 28, True, 20),
    (9, 1024, 28, 28, True, 20),
    (9, 8192, 28, 28, True, 20),
    (9, 1024, 28, 28, False, 30),
    (16, 1024, 32, 32, False, 20),
)
GAMMA = 0.1


def compare(points: int, rows: int, h: int, w: int, shared: bool, steps: int) -> str:
    """One line of the table."""
    from warpcert.flow.fused import walk_fused  # Triton comes with torch where there are GPUs

    values = torch.randn(points, 1, rows, h, w, device="cuda")
    shape = (2, points) if shared else (2, points, 1, 1, h, w)
    at = torch.rand(shape, device="cuda") - 0.5
    warm = 0.3 * torch.randn(1, rows, 2, 2, h, w, device="cuda")
    tau = ascent.WARM * ascent._tau(values)
    strength = ascent._strength(at, tau)

    def together() -> Tensor:
        return walk_fused(values, at, tau, strength, GAMMA, steps, warm)

    def one_by_one() -> Tensor:
        hill = ascent._Hill(values, at, GAMMA, ascent.WARM)
        found = [*hill.walk(steps, warm, track=False)[0], warm]
        return torch.stack([hill.height(duals) for duals in found]).amax(0)

    ours, theirs = (1e3 * seconds(work, "cuda") for work in (together, one_by_one))
    heights = one_by_one()
    apart = (ascent._Hill(values, at, GAMMA).height(together()) - heights).abs().amax()
    size = heights.abs().mean()
    return (
        f"{theirs / ours:6.1f} x  {ours:8.2f}  {theirs:10.2f}  {float(apart / size):9.1e}  "
        f"{rows} rows of {h} x {w}, {points} points{'' if shared else ' each'}, {steps} steps"
    )


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("there is no GPU here: this compares two ways to use one")
    print(name_device("cuda"))
    print("faster    ms ours   ms one by one   apart")
    with torch.no_grad():
        for size in SIZES:
            print(compare(*size), flush=True)


if __name__ == "__main__":
    main()
