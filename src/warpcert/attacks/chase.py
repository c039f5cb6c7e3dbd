"""Chase: a network and input sets as a search sees them, in float32."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from warpcert.attacks.margins import rival_margins
from warpcert.core.clock import tick
from warpcert.core.inputset import InputSet
from warpcert.core.memory import chunk_size
from warpcert.core.shapes import Float, Int
from warpcert.net import Network

WORKING_ARRAYS = 60
"""Arrays of the parameters' size that a step of a search needs, about: bending and projecting."""


class Found(NamedTuple):
    """Parameters (B, ...) of members, and the margins (B,) that they are claimed to have."""

    parameters: Tensor
    margins: Tensor

    def take(self, images: Tensor) -> Found:
        """What is known of some images."""
        return Found(self.parameters[images], self.margins[images])

    def put(self, images: Tensor, other: Found) -> Found:
        """Replace what is known of some images."""
        return Found(
            self.parameters.index_copy(0, images, other.parameters),
            self.margins.index_copy(0, images, other.margins),
        )

    def better(self, other: Found) -> Found:
        """Image by image the one with the lower margin; the first where neither is a number."""
        lower = (other.margins < self.margins) | torch.isnan(self.margins)
        shape = (-1,) + (1,) * (self.parameters.dim() - 1)
        return Found(
            torch.where(lower.view(shape), other.parameters, self.parameters),
            torch.where(lower, other.margins, self.margins),
        )


class Slope(NamedTuple):
    """Margins (N,), what is to be lowered (N,) and its gradient (N, ...)."""

    margins: Tensor
    goals: Tensor
    gradient: Tensor


@dataclass(frozen=True, eq=False)
class Chase:
    """A network, input sets and labels (B,); ``targets`` (B,) are classes to favour, or None."""

    network: Network
    inputs: InputSet
    labels: Tensor
    targets: Tensor | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, images: Tensor) -> Chase:
        """Of some images, repeated as they are."""
        targets = None if self.targets is None else self.targets[images]
        return Chase(self.network, self.inputs.select(images), self.labels[images], targets)

    def scores(self, v: Tensor) -> Float[Tensor, "B classes"]:
        """What the network says of the members with these parameters; looks at the clock."""
        tick()
        return self.network(self.inputs.realise(v))

    def margins(self, v: Tensor) -> Float[Tensor, " B"]:
        """The label's score minus the highest other one."""
        with torch.no_grad():
            return rival_margins(self.scores(v), self.labels)[0]

    def found(self, v: Tensor) -> Found:
        """Parameters brought into the sets, and their margins."""
        members = self.inputs.project(v.detach())
        return Found(members, self.margins(members))

    def slope(self, v: Tensor) -> Slope:
        """At v, the gradient in v of the margin, against the targets where there are any."""
        at = v.detach().requires_grad_()
        return self._slope(self.scores(at), at)

    def image_slope(self, v: Tensor) -> Slope:
        """The same with the gradient in the image that v stands for."""
        tick()
        at = self.inputs.realise(v.detach()).detach().requires_grad_()
        return self._slope(self.network(at), at)

    def _slope(self, scores: Tensor, at: Tensor) -> Slope:
        margins = goals = rival_margins(scores, self.labels)[0]
        if self.targets is not None:
            mine, theirs = (scores.gather(1, x[:, None]) for x in (self.labels, self.targets))
            goals = (mine - theirs).squeeze(1)
        if not goals.requires_grad:  # a network that does not look at its input
            return Slope(margins, goals, torch.zeros_like(at))
        (gradient,) = torch.autograd.grad(goals.sum(), at)
        return Slope(margins.detach(), goals.detach(), gradient.nan_to_num(0.0, 0.0, 0.0))

    def each(
        self,
        starts: Float[Tensor, "B n ..."],
        run: Callable[[Chase, Tensor], Found],
        targets: Int[Tensor, "B n"] | None = None,
    ) -> Found:
        """Run a search from each of n starts of every image, and keep the best for each image.

        All together, as far as memory goes; each may have a target of its own.
        """
        best = Found(starts[:, 0], torch.full_like(starts[:, 0].flatten(1)[:, 0], math.nan))
        for images, columns in self._parts(starts):
            count = columns.stop - columns.start
            some = self.select(images.repeat_interleave(count))
            if targets is not None:
                some = replace(some, targets=targets[images, columns].flatten())
            found = run(some, starts[images, columns].flatten(0, 1))
            for k in range(count):
                one = Found(found.parameters[k::count], found.margins[k::count])
                best = best.put(images, best.take(images).better(one))
        return best

    def table(self, v: Float[Tensor, "B n ..."]) -> Float[Tensor, "B n"]:
        """The margins of n members of each image's set; NaN as inf."""
        margins = torch.full(v.shape[:2], math.inf, device=v.device)
        for images, columns in self._parts(v):
            some = self.select(images.repeat_interleave(columns.stop - columns.start))
            values = some.margins(v[images, columns].flatten(0, 1))
            margins[images, columns] = values.view(len(images), -1).nan_to_num(math.inf)
        return margins

    def rivals(self, v: Tensor, count: int) -> Int[Tensor, "B n"]:
        """The classes with the highest scores but the label's, ``count`` if there are so many."""
        with torch.no_grad():
            scores = self.scores(v).scatter(1, self.labels[:, None], -math.inf)
        return scores.topk(min(count, scores.shape[1] - 1), dim=1).indices

    def _parts(self, starts: Tensor) -> Iterator[tuple[Tensor, slice]]:
        """Images and starts that fit into memory together."""
        batch, count = starts.shape[:2]
        entries = 2 * self.network.entries
        entries += WORKING_ARRAYS * starts[0, 0].numel()
        size = chunk_size(4 * entries, starts.device)
        numbers = torch.arange(batch, device=starts.device)
        columns = min(count, size)
        for images in numbers.split(max(1, size // columns)):
            for first in range(0, count, columns):
                yield images, slice(first, min(first + columns, count))
