"""DeformedImage: all bent versions of an image, as a set that verifiers can ask."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import torch
from torch import Generator, Tensor

from warpcert.core import rounding
from warpcert.core.checks import check_fields, check_images, check_rows
from warpcert.core.inputset import Approach, InputSet, Minimum, Rectangle
from warpcert.core.interval import Interval
from warpcert.core.memory import chunk_size
from warpcert.core.polytope import Polytope
from warpcert.core.shapes import Bool, Float
from warpcert.flow.ascent import least
from warpcert.flow.bounds import pixel_bounds, region_bounds
from warpcert.flow.busy import busy
from warpcert.flow.coupled import Found, coupled_minimum
from warpcert.flow.frame import Frame
from warpcert.flow.free import free_bound
from warpcert.flow.minimum import WORKING_ARRAYS
from warpcert.flow.points import Points
from warpcert.flow.polytope import Relaxation, polytope
from warpcert.flow.region import Region
from warpcert.flow.search import search
from warpcert.flow.steepest import steepest, translations
from warpcert.flow.threat import Threat
from warpcert.flow.warp import warp
from warpcert.flow.window import Window


class Effort(NamedTuple):
    """How long to search: steps, and steps and points on the outer curve for norms 1 and 2."""

    steps: int
    round_steps: int
    rim: int

    def steps_for(self, norm: float) -> int:
        """Round balls have more points, which take longer to tell apart."""
        return self.steps if norm == math.inf else self.round_steps


EFFORTS = {
    "default": Effort(steps=200, round_steps=300, rim=32),
    "thorough": Effort(steps=1000, round_steps=1500, rim=48),
}
"""Measured on gradients of scores and on rows substituted back from scores and from neurons, of
trained networks for digits and photographs, all norms, gamma from 0.001 to 0.3: within 5 % and 1 %
of the most that duals can gain over free pixels."""

HURRIED, FEW = 100, 16
"""In fewer steps than these, that many points on a curve do as well: with 50 steps, 16 and 32 come
equally close."""

MIXES = (1.0, 0.99, 0.9, 0.75, 0.5, 0.25, 0.1)
"""How far towards a field to go from a region's plainest one, the first that fits."""

CACHED = 1 << 16
"""Pixels treated at once on a CPU: the search goes over them again and again."""


@dataclass(frozen=True, eq=False)
class DeformedImage(InputSet):
    """The images {warp(image, field): field in the threat}, for each image (B, C, H, W).

    ``effort``: how long `minimise` searches when it is not told. ``region``: where each image's
    pixels may go, with boxes (B, 1, H, W, 2), for a part of the threat; None for all of it.
    """

    images: Tensor
    threat: Threat
    effort: Literal["default", "thorough"] = "default"
    region: Region | None = None
    relaxation: Relaxation = "hull"

    def __post_init__(self) -> None:
        """Refuse what are not images, and regions that are not theirs."""
        check_images(self.images)
        if self.effort not in EFFORTS:
            raise ValueError(f"effort must be one of {', '.join(EFFORTS)}, got {self.effort!r}")
        if self.region is not None:
            batch, _, height, width = self.images.shape
            wanted, got = (batch, 1, height, width, 2), tuple(self.region.lower.shape)
            if wanted != got:
                raise ValueError(f"region must have boxes of the shape {wanted}, got {got}")
            if (self.region.norm, self.region.delta) != (self.threat.norm, self.threat.delta):
                raise ValueError(f"region must be a part of the ball of {self.threat}")

    @cached_property
    def box(self) -> Interval:
        """The tightest box, see `pixel_bounds`."""
        if self.region is not None:
            return region_bounds(self.images, self._region)
        return pixel_bounds(self.images, self.threat)

    @property
    def boxed(self) -> bool:
        """With one channel and free neighbours every pixel takes all its values by itself."""
        return self.images.shape[1] == 1 and not self._coupled

    @property
    def searches(self) -> bool:
        """Where neighbours are coupled, there are duals to look for."""
        return self._coupled

    def minimise(
        self, rows: Tensor, warm: Tensor | None = None, steps: int | None = None
    ) -> Minimum:
        """Lower bounds of <row, bent image>, see `support`.

        The duals are (B, R, 2, 2, h, w), see `differences`, on the rectangle of size (h, w) that
        holds every row's non-zero entries; warm ones of another shape are not used. With the
        duals of a larger gamma as warm ones, no bound is below that of the larger gamma.

        The gradient is a point of the relaxation: at every pixel a mean of bent values, by the
        search's weights, so that <row, gradient> is close to the bound. Without steps it is where
        every pixel is lowest under the warm duals, a supergradient of the bound they prove.
        Outside its rectangle it is the image itself.
        """
        check_rows(rows, self.images)
        if steps is not None and steps < 0:
            raise ValueError(f"steps must be at least 0, got {steps}")
        bound, duals = _Support.apply(rows, self, warm, steps)  # type: ignore[no-untyped-call]
        return Minimum(bound, duals)

    def approach(self, rows: Tensor, warm: Tensor | None = None, steps: int = 0) -> Approach:
        """About the minima, in float32: at the best of a few points of every pixel's region.

        The duals are (B, R, 2, 2, H, W) here, for whole images; with steps they are made better.
        """
        points, gamma = self._few_points, self.threat.gamma
        if not self._coupled:
            values = points.combine(rows)
            value, where = least(values, points.at, 0.0, None)
            return Approach(value, points.pick(where))
        size = rows.abs().amax((2, 3, 4), keepdim=True)
        size = torch.where(size > 0, size, 1.0).to(torch.float32)
        values = points.combine(rows / size)
        duals = None
        if warm is not None and warm.shape == (*rows.shape[:2], 2, 2, *rows.shape[-2:]):
            duals = (warm / size[..., None]).to(torch.float32).nan_to_num(0.0, 0.0, 0.0)
        if steps:
            duals, _ = search(values, points.at, gamma, steps, duals)
        value, where = least(values, points.at, gamma, duals)
        after = None if duals is None else duals * size[..., None]
        return Approach(value * size[..., 0, 0, 0], points.pick(where), after)

    def select(self, images: Tensor) -> DeformedImage:
        """The bent versions of some of the images."""
        region = self.region
        if region is not None:
            at = images.to(region.lower.device)
            region = replace(region, lower=region.lower[at], upper=region.upper[at])
        return replace(self, images=self.images[images], region=region)

    def narrow(self) -> tuple[InputSet, Rectangle | None]:
        """The images on the rectangle in which pixels move, bent by the fields on it.

        Sound, because outside of `busy` an image repeats the edge of that rectangle, which is what
        clamping does there, so that a pixel inside is bent alike in both; and a field of the
        threat keeps to its rules on a rectangle. Of the whole threat nothing is lost: see `Window`.
        """
        whole, (top, left, height, width) = self.images.shape[2:], self._busy
        if (height, width) == whole or min(height, width) <= math.ceil(self.threat.delta):
            return self, None
        at = (slice(top, top + height), slice(left, left + width))
        region = self.region
        if self.region is not None or not self._region.uniform:
            ends = (
                x.reshape(-1, 1, *whole, 2)[:, :, *at].expand(len(self.images), -1, -1, -1, -1)
                for x in (self._region.lower, self._region.upper)
            )
            region = Region(self._region.norm, self._region.delta, *ends)
        images = self.images[:, :, *at].contiguous()
        return replace(self, images=images, region=region), self._busy

    def realise(self, v: Tensor) -> Float[Tensor, "B C H W"]:
        """The images bent by fields (B, H, W, 2)."""
        return warp(self.images, v)

    def project(self, v: Tensor) -> Float[Tensor, "B H W 2"]:
        """The fields (B, H, W, 2) brought into the threat and, if there is one, into the region.

        Into a region they are clamped, and mixed with the region's field nearest to none as far
        as the threat asks for it.
        """
        check_fields(v, (self.images.shape[2], self.images.shape[3]))
        if self.region is None:
            return self.threat.project(v)
        return self._confined(v)

    def contains(self, v: Tensor) -> Bool[Tensor, " B"]:
        """The fields (B, H, W, 2) of the threat that keep to the region, see `Threat.contains`.

        A region's boxes are not float32 numbers: they may be left by `rounding.confined`.
        """
        check_fields(v, (self.images.shape[2], self.images.shape[3]))
        inside = self.threat.contains(v)
        if self.region is None:
            return inside
        fields, (low, high) = v.to(torch.float64), self._boxes
        off = rounding.confined(self.threat.delta, v.dtype)
        near = (low - off <= fields) & (fields <= high + off)
        return inside & near.flatten(1).all(1)

    def sample(self, n: int, generator: Generator | None = None) -> Float[Tensor, "B {n} H W 2"]:
        """No displacement, a grid of translations, and as many other fields of `Threat.sample`.

        Brought into the region, if there is one.
        """
        shape = (self.images.shape[2], self.images.shape[3])
        moved = translations(self.threat, n)
        fields = moved[:, None, None].expand(-1, *shape, -1).to(self.images)
        fields = self.threat.project(fields.contiguous())
        others = self.threat.sample(
            shape, n - len(moved), generator=generator, dtype=fields.dtype, device=fields.device
        )
        every = torch.cat([fields, others]).expand(len(self.images), -1, -1, -1, -1)
        if self.region is None:
            return every
        return torch.stack([self._confined(some.contiguous()) for some in every.unbind(1)], dim=1)

    def steepest(self, slopes: Tensor) -> Float[Tensor, "B H W 2"]:
        """Fields (B, H, W, 2) far along the slopes, as smooth as gamma wants, see `steepest`."""
        fields = steepest(self.threat, slopes)
        if self.region is None:
            return fields
        low, high = self._boxes
        return torch.clamp(fields, low.to(fields), high.to(fields))

    @property
    def _boxes(self) -> tuple[Float[Tensor, "B H W 2"], Float[Tensor, "B H W 2"]]:
        """The ends of the region's boxes."""
        region = self._region
        shape = (-1, *self.images.shape[2:], 2)
        return region.lower.reshape(shape), region.upper.reshape(shape)

    def _confined(self, v: Float[Tensor, "B H W 2"]) -> Float[Tensor, "B H W 2"]:
        """Members of the threat in the region, as near as clamping and mixing bring them."""
        low, high = (x.to(v) for x in self._boxes)
        plain = self.threat.project(torch.clamp(torch.zeros_like(v), low, high))
        goal = self.threat.project(torch.clamp(v.nan_to_num(0.0), low, high))
        found = plain
        done = torch.zeros(len(v), dtype=torch.bool, device=v.device)
        for share in MIXES:
            mixed = self.threat.project(torch.lerp(plain, goal, share))
            fits = self.contains(mixed) & ~done
            found = torch.where(fits[:, None, None, None], mixed, found)
            done |= fits
            if bool(done.all()):
                break
        kept = self.contains(v)
        return torch.where(kept[:, None, None, None], v, found)

    def minimiser(
        self, rows: Float[Tensor, "B C H W"], steps: int | None = None
    ) -> Float[Tensor, "B H W 2"]:
        """Where every pixel is lowest; for a finite gamma the mean field of the search."""
        if not self._coupled:
            where = free_bound(self.images, self._region, rows[:, None], track=True)[1]
            assert where is not None
            return self.project(where[:, 0].to(rows.dtype))
        effort = EFFORTS[self.effort].steps if steps is None else steps
        size = rows.abs().amax((1, 2, 3), keepdim=True)
        values = self._points.combine((rows / torch.where(size > 0, size, 1.0))[:, None])
        _, weights = search(values, self._points.at, self.threat.gamma, effort, track=True)
        assert weights is not None
        return self.project(self._points.place(weights)[:, 0].to(rows.dtype))

    def polytope(self) -> list[Polytope]:
        """Rows for the pixels and the field, see `flow.polytope`."""
        return polytope(self.images, self.threat, self.relaxation, self.region)

    @property
    def _coupled(self) -> bool:
        """Whether gamma says anything: two displacements of the ball differ by at most 2 delta."""
        return self.threat.gamma < 2 * self.threat.delta

    @property
    def _region(self) -> Region:
        height, width = self.images.shape[-2:]
        region = self.threat.region((height, width)) if self.region is None else self.region
        return region.to(self.images.device)

    @cached_property
    def _busy(self) -> Rectangle:
        return busy(self.images, self.threat.delta)

    @cached_property
    def _frame(self) -> Frame:
        return Frame.of(self.images, self._region)

    @cached_property
    def _points(self) -> Points:
        return Points.of(self.images, self._region, EFFORTS[self.effort].rim)

    @cached_property
    def _few_points(self) -> Points:
        return Points.of(self.images, self._region, FEW)

    def _points_for(self, steps: int, track: bool) -> Points | None:
        """Those to search with, or None where nothing is searched for."""
        if not self._coupled or not (steps or track):
            return None
        few = float(self.threat.norm) < math.inf and 0 < steps < HURRIED
        return self._few_points if few else self._points

    def _answer(
        self, rows: Tensor, warm: Tensor | None, steps: int | None, track: bool
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Bounds in float64, duals, and the points where the bounds are taken."""
        window = Window.around(rows) if self._frame.halo else None
        if window is not None and (window.height, window.width) == rows.shape[-2:]:
            window = None
        height, width = rows.shape[-2:] if window is None else (window.height, window.width)
        if warm is not None and warm.shape != (*rows.shape[:2], 2, 2, height, width):
            warm = None
        if steps is None:
            steps = EFFORTS[self.effort].steps_for(float(self.threat.norm))
        search = self._points_for(steps, track)
        bounds, duals, points = [], [], []
        for part in self._chunks(rows.shape[1], height * width, search):
            view = None if window is None else window[part]
            asked = rows[:, part].detach()
            if self._coupled:
                some = None if warm is None else warm[:, part].detach()
                found, point = self._minimise_coupled(asked, view, search, some, steps, track)
            else:
                found, point = self._minimise_free(asked, view, track)
            bounds.append(found.bound)
            duals += [] if found.duals is None else [found.duals]
            points += [] if point is None else [point]
        return (
            torch.cat(bounds, dim=1),
            torch.cat(duals, dim=1) if duals else None,
            torch.cat(points, dim=1) if points else None,
        )

    def _minimise_free(
        self, rows: Tensor, window: Window | None, track: bool
    ) -> tuple[Found, Tensor | None]:
        """The exact minimum, pixel by pixel."""
        if track:
            window = None
        frame = self._frame if window is None else self._frame.cut(window)
        asked = rows if window is None else window.cut_rows(rows)
        bound, where = free_bound(
            frame.images, frame.region, frame.fold(asked), frame.halo, track=track
        )
        found = Found(frame.unfold(bound, rows), None, None)
        if where is None:
            return found, None
        count = rows.shape[1]
        images = self.images.detach().to(torch.float64)
        images = images[:, None].expand(-1, count, -1, -1, -1).flatten(0, 1)
        point = warp(images, where.flatten(0, 1)).unflatten(0, (-1, count))
        return found, point.to(rows.dtype)

    def _minimise_coupled(
        self,
        rows: Tensor,
        window: Window | None,
        points: Points | None,
        warm: Tensor | None,
        steps: int,
        track: bool,
    ) -> tuple[Found, Tensor | None]:
        """The best bound for a finite gamma."""
        frame, asked = self._frame, rows
        if window is not None:
            frame, asked = frame.cut(window), window.cut_rows(rows)
            points = points and points.cut(window)
        found = coupled_minimum(frame, points, asked, self.threat.gamma, steps, warm, track)
        if points is None or found.weights is None:
            return found, None
        point = points.mix(found.weights).to(rows.dtype)
        if window is not None:
            point = window.paste(point, self.images.detach()[:, None].expand_as(rows).to(point))
        return found, point

    def _chunks(self, rows: int, pixels: int, points: Points | None) -> Iterator[slice]:
        """Slices of the row axis that fit into memory."""
        batch, channels = self.images.shape[:2]
        reach = 2 * self._frame.halo + 1
        count = 8 * (WORKING_ARRAYS + channels)
        if self._coupled:
            count += 8 * 4 * reach * reach
        if points is not None:
            count += 4 * (4 + channels) * points.values.shape[0]
        size = chunk_size(count * batch * pixels, self.images.device)
        if self.images.device.type == "cpu":
            size = min(size, max(1, CACHED // (batch * pixels)))
        return (slice(start, start + size) for start in range(0, rows, size))


def support(images: Tensor, threat: Threat, rows: Tensor) -> Tensor:
    """Lower bounds of <row, bent image>: images (B, C, H, W), rows (B, R, C, H, W) -> (B, R).

    With gamma = inf pixels are independent and the bound is the exact minimum, for every norm
    and any number of channels (see `free_bound`). With a finite gamma it is the best of that, of
    a bound by weak duality, sound whatever duals the search has found (see `dual_bound`), and of
    a comparison with a translation (see `translation_bound`), exact for gamma = 0. All rounding is
    taken off. Differentiable in the rows: the gradient is the minimising bent image or, for a
    finite gamma, a point of the relaxation. Infinite or NaN rows are refused.
    """
    return DeformedImage(images, threat).minimise(rows).bound


class _Support(torch.autograd.Function):
    """The support function and its gradient, the minimiser."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, deformed: DeformedImage, warm: Tensor | None, steps: int | None
    ) -> tuple[Tensor, Tensor | None]:
        track = ctx.needs_input_grad[0]
        bound, duals, point = deformed._answer(rows, warm, steps, track)
        if track:
            ctx.save_for_backward(point)
        if duals is not None:
            ctx.mark_non_differentiable(duals)
        return rounding.down(bound, rows.dtype), duals

    @staticmethod
    def backward(ctx: Any, bound: Tensor, duals: Tensor | None) -> tuple[Tensor, None, None, None]:
        del duals
        (point,) = ctx.saved_tensors
        return bound[..., None, None, None] * point, None, None, None
