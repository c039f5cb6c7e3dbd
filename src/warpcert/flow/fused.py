"""walk_fused: all steps of the search for duals in one kernel, a row for each of a GPU's blocks.

The search is a few thousand operations on arrays that are small for a GPU, so that launching them
one by one takes ten times as long as doing them. Here every row stays with one block from its first
step to its last. Triton comes with torch where that knows GPUs; elsewhere nothing of this is used.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from warpcert.core.shapes import Float


def walk_fused(
    values: Float[Tensor, "K B R h w"],
    at: Tensor,
    tau: Float[Tensor, "B R h w"],
    strength: Float[Tensor, "B R h w"],
    gamma: float,
    steps: int,
    warm: Float[Tensor, "B R 2 2 h w"] | None,
) -> Float[Tensor, "B R 2 2 h w"]:
    """The best duals that `climb` meets, by the same steps; see there. Nothing is proved here."""
    points, batch, rows, height, width = values.shape
    values, tau, strength = (x.contiguous() for x in (values, tau, strength))
    pixels, count = height * width, batch * rows
    if at.dim() == 2:
        at = at.contiguous()
        strides = at.stride(1), 0, 0
    else:
        at = at.expand(2, *values.shape)
        if batch > 1 or at.stride()[4:] != (width, 1):
            at = at.contiguous()
        strides = at.stride(1), at.stride(3), 1
    out = values.new_empty((batch, rows, 2, 2, height, width))
    start = out if warm is None else warm.to(torch.float32).contiguous()
    block = max(64, triton.next_power_of_2(pixels))
    kernel: Any = _walk
    with torch.cuda.device_of(values):
        kernel[(count,)](
            values,
            at[0],
            at[1],
            tau,
            strength,
            start,
            out,
            width,
            pixels,
            points,
            gamma,
            steps,
            count * pixels,
            *strides,
            WARM=warm is not None,
            BLOCK=block,
            num_warps=min(16, max(2, block // 128)),
        )
    return out


@triton.jit
def _tilt(values, columns, rows, sx, sy, weight, live):  # type: ignore[no-untyped-def]
    """A point's value and place, and what it is under a slope."""
    value = tl.load(values, mask=live, other=0.0)
    x = tl.load(columns, mask=live, other=0.0)
    y = tl.load(rows, mask=live, other=0.0)
    return weight * value + x * sx + y * sy, x, y


@triton.jit
def _respond(values, columns, rows, k_value, k_place, points, tau, sx, sy, weight, live):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    """The mean of a pixel's points, weighted by the softmax of -tau times what they are."""
    top = tl.full(tau.shape, float("-inf"), tl.float32)
    for k in range(points):
        tilted, _, _ = _tilt(
            values + k * k_value, columns + k * k_place, rows + k * k_place, sx, sy, weight, live
        )
        top = tl.maximum(top, -tau * tilted)
    total = tl.zeros_like(tau)
    mean_x = tl.zeros_like(tau)
    mean_y = tl.zeros_like(tau)
    for k in range(points):
        tilted, x, y = _tilt(
            values + k * k_value, columns + k * k_place, rows + k * k_place, sx, sy, weight, live
        )
        share = tl.exp(-tau * tilted - top)
        total += share
        mean_x += share * x
        mean_y += share * y
    return mean_x / total, mean_y / total


@triton.jit
def _slope(right, down, before, above, is_right, is_down):  # type: ignore[no-untyped-def]
    """D^T of duals: what comes in from the left and from above, less what goes out."""
    into = tl.where(is_right, tl.gather(right, before, 0), 0.0)
    into += tl.where(is_down, tl.gather(down, above, 0), 0.0)
    return into - right - down


@triton.jit
def _advance(ahead, scaled, total, sigma, following, is_edge, gamma):  # type: ignore[no-untyped-def]
    """An edge's dual over sigma, and the sum of its duals, after a step."""
    excess = tl.gather(ahead, following, 0) - ahead + scaled
    kept = excess - tl.minimum(tl.maximum(excess, -gamma), gamma)
    scaled = tl.where(is_edge, kept, 0.0)
    return scaled, total + scaled * sigma


@triton.jit
def _height(values, columns, rows, k_value, k_place, points, sx, sy, size, gamma, live):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    """What duals prove, roughly, from the slopes they make and the sum of their sizes by pixel."""
    least = tl.full(sx.shape, float("inf"), tl.float32)
    for k in range(points):
        tilted, _, _ = _tilt(
            values + k * k_value, columns + k * k_place, rows + k * k_place, sx, sy, 1.0, live
        )
        least = tl.minimum(least, tilted)
    return tl.sum(tl.where(live, least - gamma * size, 0.0), 0)


# Numbers that are 1, or multiples of 16, make no kernels of their own.
@triton.jit(  # type: ignore[untyped-decorator]
    do_not_specialize=["width", "pixels", "points", "steps", "k_value", "k_place", "row_place"]
)
def _walk(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0915, PLR0917
    values,
    columns,
    rows,
    taus,
    strengths,
    start,
    out,
    width,
    pixels,
    points,
    gamma,
    steps,
    k_value,
    k_place,
    row_place,
    pixel_place,
    WARM: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    k_value, k_place = tl.cast(k_value, tl.int64), tl.cast(k_place, tl.int64)
    pixel = tl.arange(0, BLOCK)
    live = pixel < pixels
    x = pixel % width
    has_right = live & (x < width - 1)
    has_down = pixel + width < pixels
    has_left = live & (x > 0)
    has_up = live & (pixel >= width)
    after = tl.minimum(pixel + 1, BLOCK - 1)
    below = tl.minimum(pixel + width, BLOCK - 1)
    before = tl.maximum(pixel - 1, 0)
    above = tl.maximum(pixel - width, 0)
    values += row * pixels + pixel
    columns += row * row_place + pixel * pixel_place
    rows += row * row_place + pixel * pixel_place
    tau = tl.load(taus + row * pixels + pixel, mask=live, other=1.0)
    strength = tl.load(strengths + row * pixels + pixel, mask=live, other=1.0)
    sigma_r = 1.0 / tl.maximum(strength, tl.gather(strength, after, 0))
    sigma_d = 1.0 / tl.maximum(strength, tl.gather(strength, below, 0))

    zero = tl.zeros_like(tau)
    warm_rx, warm_ry, warm_dx, warm_dy = zero, zero, zero, zero
    if WARM:
        start += row * 4 * pixels + pixel
        warm_rx = tl.load(start, mask=has_right, other=0.0)
        warm_ry = tl.load(start + pixels, mask=has_right, other=0.0)
        warm_dx = tl.load(start + 2 * pixels, mask=has_down, other=0.0)
        warm_dy = tl.load(start + 3 * pixels, mask=has_down, other=0.0)
    rx, ry, dx, dy = warm_rx / sigma_r, warm_ry / sigma_r, warm_dx / sigma_d, warm_dy / sigma_d
    sum_rx, sum_ry, sum_dx, sum_dy = warm_rx, warm_ry, warm_dx, warm_dy
    half_rx, half_ry, half_dx, half_dy = warm_rx, warm_ry, warm_dx, warm_dy
    old_x, old_y = _respond(
        values, columns, rows, k_value, k_place, points, tau, zero, zero, 0.0, live
    )
    half = steps // 2
    for k in range(1, steps + 1):
        sx = _slope(sum_rx, sum_dx, before, above, has_left, has_up)
        sy = _slope(sum_ry, sum_dy, before, above, has_left, has_up)
        new_x, new_y = _respond(
            values, columns, rows, k_value, k_place, points, tau, sx, sy, k * 1.0, live
        )
        ahead_x, ahead_y = 2.0 * new_x - old_x, 2.0 * new_y - old_y
        rx, sum_rx = _advance(ahead_x, rx, sum_rx, sigma_r, after, has_right, gamma)
        ry, sum_ry = _advance(ahead_y, ry, sum_ry, sigma_r, after, has_right, gamma)
        dx, sum_dx = _advance(ahead_x, dx, sum_dx, sigma_d, below, has_down, gamma)
        dy, sum_dy = _advance(ahead_y, dy, sum_dy, sigma_d, below, has_down, gamma)
        old_x, old_y = new_x, new_y
        if k == half:
            half_rx, half_ry, half_dx, half_dy = sum_rx, sum_ry, sum_dx, sum_dy

    # The mean of all, the last, the mean of the second half, and the first: the highest is kept.
    all_steps = steps * 1.0
    late_steps = (steps - half) * 1.0
    best_rx = (sum_rx - warm_rx) / all_steps
    best_ry = (sum_ry - warm_ry) / all_steps
    best_dx = (sum_dx - warm_dx) / all_steps
    best_dy = (sum_dy - warm_dy) / all_steps
    best = float("-inf")
    for which in tl.static_range(4 if WARM else 3):
        if which == 0:
            try_rx, try_ry, try_dx, try_dy = best_rx, best_ry, best_dx, best_dy
        elif which == 1:
            try_rx, try_ry, try_dx, try_dy = rx * sigma_r, ry * sigma_r, dx * sigma_d, dy * sigma_d
        elif which == 2:
            try_rx = (sum_rx - half_rx) / late_steps
            try_ry = (sum_ry - half_ry) / late_steps
            try_dx = (sum_dx - half_dx) / late_steps
            try_dy = (sum_dy - half_dy) / late_steps
        else:
            try_rx, try_ry, try_dx, try_dy = warm_rx, warm_ry, warm_dx, warm_dy
        sx = _slope(try_rx, try_dx, before, above, has_left, has_up)
        sy = _slope(try_ry, try_dy, before, above, has_left, has_up)
        size = tl.abs(try_rx) + tl.abs(try_ry) + tl.abs(try_dx) + tl.abs(try_dy)
        height = _height(values, columns, rows, k_value, k_place, points, sx, sy, size, gamma, live)
        better = height > best
        best_rx = tl.where(better, try_rx, best_rx)
        best_ry = tl.where(better, try_ry, best_ry)
        best_dx = tl.where(better, try_dx, best_dx)
        best_dy = tl.where(better, try_dy, best_dy)
        best = tl.where(better, height, best)
    out += row * 4 * pixels + pixel
    tl.store(out, best_rx, mask=live)
    tl.store(out + pixels, best_ry, mask=live)
    tl.store(out + 2 * pixels, best_dx, mask=live)
    tl.store(out + 3 * pixels, best_dy, mask=live)
