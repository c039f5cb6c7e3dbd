"""in_tiles: work in parts gives what work on the whole gives, whatever the memory."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.flow.agree import NORMS, Border
from tests.flow.pictures import picture
from warpcert import Threat
from warpcert.flow.minimum import lowest
from warpcert.flow.region import Region
from warpcert.flow.tiles import in_tiles

DOUBLE = torch.float64


def asymmetric() -> Region:
    """Reaches one row up, three down, two columns to the left and none to the right."""
    lower, upper = torch.tensor([[-1.5, -0.5], [0.0, 2.5]], dtype=DOUBLE)
    return Region(math.inf, 3.0, lower, upper)


def neighbourhood(planes: Tensor, region: Region) -> Tensor:
    """A sum that notices every pixel in the window, and which side it is on."""
    left, right = region.window(0, 99)
    top, bottom = region.window(1, 99)
    padded = F.pad(planes, (-left, right, -top, bottom), mode="replicate")
    weights = torch.arange(1, 1 + (right - left + 1) * (bottom - top + 1), dtype=DOUBLE)
    weights = weights.view(1, 1, bottom - top + 1, right - left + 1)
    return F.conv2d(padded, weights)[..., None]


@pytest.mark.parametrize("pixels", [1, 5, 10, 23, 35, 36, 100, 10**6])
@pytest.mark.parametrize("region", [asymmetric(), Threat(1.0, 1.2).region((7, 5))])
def test_every_pixel_sees_its_whole_window(
    pixels: int, region: Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpcert.core.memory.free_bytes", lambda _: 4 * 10 * pixels)
    images = picture("random", 3, 7, 5, batch=2)
    whole = neighbourhood(images.flatten(0, 1)[:, None], region).view(2, 3, 7, 5, 1)
    torch.testing.assert_close(in_tiles(neighbourhood, images, region, 10), whole)


@pytest.mark.parametrize("pixels", [1, 12, 70])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("delta", "border"), [(0.7, "clamp"), (2.3, "clamp"), (1.6, "inside")])
def test_minima_do_not_depend_on_the_tiles(
    pixels: int, norm: float, delta: float, border: Border, monkeypatch: pytest.MonkeyPatch
) -> None:
    region = Threat(norm, delta, 0.4, border).region((6, 3))
    images = picture("random", 2, 6, 3)
    whole, _ = lowest(images, region)
    monkeypatch.setattr("warpcert.core.memory.free_bytes", lambda _: 4 * pixels)

    def work(planes: Tensor, part: Region) -> Tensor:
        return lowest(planes, part)[0]

    torch.testing.assert_close(in_tiles(work, images, region, 1), whole, rtol=0, atol=1e-14)


def test_tiles_are_no_larger_than_they_need_be(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def work(planes: Tensor, part: Region) -> Tensor:
        sizes.append(tuple(planes.shape))
        assert part.uniform
        return planes[..., None]

    images = picture("random", 3, 8, 5)
    region = Threat(math.inf, 0.5).region((8, 5))
    for pixels in (10**6, 80, 40, 20, 1):
        monkeypatch.setattr("warpcert.core.memory.free_bytes", lambda _, n=pixels: 4 * n)
        sizes.clear()
        assert torch.equal(in_tiles(work, images, region, 1)[..., 0], images)
        # One row more on either side than what is kept, when not even an image fits.
        assert max(n * c * h * w for n, c, h, w in sizes) <= max(pixels, 3 * 5)
        assert all(c == 1 and w == 5 for _, c, _, w in sizes)


@pytest.mark.parametrize(
    ("low", "high", "length", "window"),
    [
        (-0.5, 0.5, 9, (-1, 1)),
        (0.0, 0.5, 9, (0, 1)),
        (-1.0, 1.0, 9, (-1, 1)),
        (-1.5, 2.25, 9, (-2, 3)),
        (0.25, 0.5, 9, (0, 1)),
        (2.0, 3.5, 9, (0, 4)),
        (-3.5, -2.0, 9, (-4, 0)),
        (-7.0, 7.0, 3, (-3, 3)),
    ],
)
def test_windows(low: float, high: float, length: int, window: tuple[int, int]) -> None:
    for axis in (0, 1):
        lower, upper = torch.zeros((2, 2), dtype=DOUBLE)
        lower[axis], upper[axis] = low, high
        assert Region(math.inf, 10.0, lower, upper).window(axis, length) == window


def test_windows_hold_what_interpolation_reads() -> None:
    for delta, length in itertools.product((0.0, 0.4, 1.0, 2.5, 20.0), (1, 2, 6)):
        region = Threat(2.0, delta).region((length, length))
        first, last = region.window(1, length)
        assert first <= max(-delta, -length) and last >= min(delta, length)


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_a_last_strip_that_is_not_full_is_kept(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    images = torch.rand(2, 1, 7, 5, dtype=torch.float64)  # seven rows: no strip divides them
    region = Threat("inf", 0.5).region((7, 5))  # looks one row up and one down
    monkeypatch.setattr("warpcert.core.memory.CACHED_BYTES", (rows + 2) * 5)
    done = in_tiles(lambda planes, _: planes[..., None].clone(), images, region, 1)
    assert torch.equal(done[..., 0], images)
