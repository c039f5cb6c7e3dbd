"""The search in one kernel makes the same steps as the one that launches them one by one.

With a GPU it is compared there; where Triton alone is installed, in Triton's interpreter.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from typing import Any, Literal

import pytest
import torch
from torch import Tensor

from warpcert.flow import DeformedImage, Threat, ascent
from warpcert.flow.differences import edges

CASES = [
    pytest.param(9, 3, 7, 5, True, True, 0.1, 20, id="warm"),
    pytest.param(9, 3, 7, 5, True, False, 0.1, 21, id="cold"),
    pytest.param(9, 3, 7, 5, True, True, 0.3, 150, id="long"),
    pytest.param(4, 2, 6, 6, False, True, 0.05, 20, id="own points"),
    pytest.param(6, 2, 6, 9, False, True, 0.0, 1, id="one step"),
    pytest.param(2, 2, 1, 3, True, True, 0.3, 2, id="one line"),
]


def problem(k: int, rows: int, h: int, w: int, shared: bool, warm: bool) -> tuple[Any, ...]:
    values, at = torch.randn(k, 1, rows, h, w), torch.rand(2, k) - 0.5
    if not shared:
        at = torch.rand(2, k, 1, 1, h, w) - 0.5
    return values, at, 0.3 * torch.randn(1, rows, 2, 2, h, w) if warm else None


def both(values: Tensor, at: Tensor, gamma: float, steps: int, warm: Tensor | None) -> None:
    """Duals of the kernel and of the steps one by one, compared edge by edge."""
    from warpcert.flow.fused import walk_fused

    sharpness = 1.0 if warm is None else ascent.WARM
    tau = sharpness * ascent._tau(values)
    strength = ascent._strength(at, tau).expand_as(tau)
    found = walk_fused(values, at, tau, strength, gamma, steps, warm)
    hill = ascent._Hill(values, at, gamma, sharpness)
    tried, _ = hill.walk(steps, warm, track=False)
    tried += [] if warm is None else [warm]
    heights = torch.stack([hill.height(duals) for duals in tried])
    torch.testing.assert_close(hill.height(found), heights.amax(0), rtol=1e-5, atol=1e-4)
    for row, best in enumerate(heights[:, 0].argmax(0).tolist()):
        for mine, theirs in zip(edges(found[0, row]), edges(tried[best][0, row]), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4)


SCRIPT = """
import contextlib, torch
from tests.flow.test_fused import both, compare_with_cpu, problem
gpu = torch.cuda.is_available()
if not gpu:
    torch.cuda.device_of = lambda _: contextlib.nullcontext()
for *size, gamma, steps in {cases!r}:
    torch.manual_seed(0)  # here each of the means on the way is the best for some row
    values, at, warm = problem(*size)
    if gpu:
        values, at = values.cuda(), at.cuda()
        warm = None if warm is None else warm.cuda()
    both(values, at, gamma, steps, warm)
for norm in (1, 2, "inf") if gpu else ():
    compare_with_cpu(norm)
"""


def compare_with_cpu(norm: float | Literal["inf"]) -> None:
    """What a GPU proves with the kernel's duals is nearly the most that a CPU finds, never more."""
    image, rows = torch.rand(1, 2, 9, 8), torch.randn(1, 5, 2, 9, 8)
    bent = DeformedImage(image, Threat(norm, 0.7, 0.15))
    here, warm = bent.minimise(rows, steps=0), bent.minimise(rows, steps=20)
    assert warm.duals is not None
    there = DeformedImage(image.cuda(), bent.threat).minimise(rows.cuda(), warm.duals.cuda(), 20)
    best = bent.minimise(rows, steps=2000).bound
    assert ascent._KERNELS, "the kernel was given up"
    assert (there.bound.cpu() >= torch.maximum(here.bound, warm.bound) - 1e-4).all()
    assert (there.bound.cpu() <= best + 1e-2 * best.abs()).all()


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton")
def test_the_kernel_makes_the_same_steps() -> None:
    # In a process of its own: Triton reads the kernel's source, which checks of shapes change.
    names = [param.values for param in CASES]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([".", *sys.path])}
    if not torch.cuda.is_available():
        env["TRITON_INTERPRET"] = "1"
    command = [sys.executable, "-c", SCRIPT.format(cases=names)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_without_a_kernel_the_steps_are_made_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Tensor:
        raise RuntimeError("Failed to find C compiler")

    values, at, warm = problem(9, 3, 7, 5, True, True)
    plain, _ = ascent.climb(values, at, 0.1, 20, warm, sharpness=ascent.WARM)
    module = type(sys)("warpcert.flow.fused")
    module.walk_fused = broken  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "warpcert.flow.fused", module)
    monkeypatch.setattr(ascent, "_KERNELS", {"walk"})
    monkeypatch.setattr(ascent, "_fits", lambda _: bool(ascent._KERNELS))
    for _ in range(2):  # it is not asked again
        found, _ = ascent.climb(values, at, 0.1, 20, warm, sharpness=ascent.WARM)
        assert torch.equal(found, plain)
        assert not ascent._KERNELS


def test_a_lack_of_memory_is_not_taken_for_a_missing_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory")

    module = type(sys)("warpcert.flow.fused")
    module.walk_fused = full  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "warpcert.flow.fused", module)
    monkeypatch.setattr(ascent, "_KERNELS", {"walk"})
    monkeypatch.setattr(ascent, "_fits", lambda _: True)
    values, at, warm = problem(9, 3, 7, 5, True, True)
    with pytest.raises(torch.OutOfMemoryError):
        ascent.climb(values, at, 0.1, 20, warm)
    assert ascent._KERNELS
