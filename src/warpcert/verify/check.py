"""check_proof: a tree's proof, checked again by other and plainer code.

Nothing here uses the room `bound` or the tree: cells are confined, pixels and layers are bounded
and rows are substituted back by a second, slow and simple implementation in float64. A constant
share of the sum of all terms' sizes is taken off for rounding. It is weaker than what made the
proof (which may have bounded inner neurons better), so that a proof for checking is made with
`PLAIN`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from warpcert.core.errors import Unsupported
from warpcert.core.rounding import CHECKED
from warpcert.flow import DeformedImage, Region, Threat
from warpcert.flow.warp import warp
from warpcert.net import Affine, Hinge, Network
from warpcert.verify.branch.proof import BOUNDED, CUT, PLANTED, Leaf, Proof


class Ends(NamedTuple):
    """The lower and upper ends of arrays without a batch axis."""

    lower: Tensor
    upper: Tensor


def check_proof(network: Network, image: Tensor, label: int, threat: Threat, proof: Proof) -> float:
    """Check that a proof covers everything, and that every leaf holds; return the least bound.

    ``image`` is (C, H, W). What does not hold is a `ValueError` that says where.
    """
    plain = network.to("cpu", torch.float64)
    checker = _Checker(plain, image.detach().to("cpu", torch.float64), label, threat)
    return checker.check(proof)


class _Checker:
    def __init__(self, network: Network, image: Tensor, label: int, threat: Threat) -> None:
        self.network, self.image, self.threat = network, image, threat
        others = [k for k in range(network.classes) if k != label]
        one = torch.eye(network.classes, dtype=torch.float64)
        self.rows = one[label] - one[others]
        for number in network.activations:
            if not isinstance(network.steps[number - 1].node, Hinge):
                raise Unsupported("only networks of ReLUs and their like have proofs to check")

    def check(self, proof: Proof) -> float:
        """The least bound of all cells."""
        self._well_formed(proof)
        boxes = {0: self._whole()}
        values: dict[int, list[Ends]] = {}
        least = math.inf
        leaves: dict[int, list[Leaf]] = {}
        for leaf in proof.leaves:
            leaves.setdefault(leaf.cell, []).append(leaf)
        for k, fate in enumerate(proof.fates):
            parent = proof.parents[k]
            if k:
                if not 0 <= parent < k or proof.fates[parent] != CUT:
                    raise ValueError(f"cell {k} is a part of cell {parent}, which was not cut")
                boxes[k] = self._confined(boxes[parent], proof, k)
            values[k] = self._values(boxes[k], values.get(parent))
            if fate == CUT:
                self._covered(boxes[k], proof, k)
                continue
            margins = self._substitute(self.rows, len(self.network), values[k], {}, {})
            if fate == PLANTED:
                margins = self._planted(margins, values[k], leaves.get(k, []), k)
            elif fate != BOUNDED:
                raise ValueError(f"cell {k} was left open")
            if not bool((margins > 0).all()):
                raise ValueError(f"cell {k} is bounded by {float(margins.min()):.4g} only")
            least = min(least, float(margins.min()))
        return least

    def _well_formed(self, proof: Proof) -> None:
        """Refuse lists of different lengths, and what names no pixel, cell, margin or neuron."""
        count = len(proof.fates)
        lists = (proof.parents, proof.pixels, proof.begins, proof.ends)
        if not count or any(len(each) != count for each in lists):
            raise ValueError("the lists of cells are empty or of different lengths")
        height, width = self.image.shape[1:]
        for k, (row, column) in enumerate(proof.pixels):
            if not (0 <= row < height and 0 <= column < width):
                raise ValueError(f"cell {k} is cut at ({row}, {column}), which is no pixel")
            if not all(map(math.isfinite, (*proof.begins[k], *proof.ends[k]))):
                raise ValueError(f"cell {k} has ends that are no numbers")
        for leaf in proof.leaves:
            self._well_formed_leaf(leaf, count)

    def _well_formed_leaf(self, leaf: Leaf, cells: int) -> None:
        if not (0 <= leaf.cell < cells and 0 <= leaf.row < len(self.rows)):
            raise ValueError(f"a leaf is about margin {leaf.row} of cell {leaf.cell}")
        arrays = (leaf.numbers, leaf.entries, leaf.signs, leaf.slopes, leaf.pulls)
        if any(each.shape != (len(leaf.numbers),) for each in arrays):
            raise ValueError("the arrays of a leaf are of different lengths")
        if not np.isin(leaf.signs, (-1, 0, 1)).all():
            raise ValueError("a leaf has a sign that is none")
        names = list(zip(leaf.numbers.tolist(), leaf.entries.tolist(), strict=True))
        if len(set(names)) < len(names):
            raise ValueError("a leaf names a neuron twice")
        for number, entry in names:
            known = number in self.network.activations
            if not known or not 0 <= entry < math.prod(self.network.shapes[number]):
                raise ValueError(f"a leaf names neuron {entry} of step {number}: there is none")

    # Cells

    def _whole(self) -> Ends:
        shape = (*self.image.shape[1:], 2)
        region = self.threat.region((shape[0], shape[1]))
        return Ends(region.lower.expand(shape).clone(), region.upper.expand(shape).clone())

    def _confined(self, parent: Ends, proof: Proof, k: int) -> Ends:
        """Every pixel within gamma times its distance of the cut pixel's box, and its own."""
        row, column = proof.pixels[k]
        height, width = parent.lower.shape[:2]
        lower, upper = parent.lower.clone(), parent.upper.clone()
        for i in range(height):
            for j in range(width):
                steps = abs(i - row) + abs(j - column)
                way = 0.0 if steps == 0 else self.threat.gamma * steps * (1 + CHECKED)
                for axis in (0, 1):
                    low, high = proof.begins[k][axis] - way, proof.ends[k][axis] + way
                    lower[i, j, axis] = max(float(lower[i, j, axis]), low)
                    upper[i, j, axis] = min(float(upper[i, j, axis]), high)
        if bool((lower > upper + CHECKED).any()):
            raise ValueError(f"cell {k} is empty")
        return Ends(lower, torch.maximum(lower, upper))

    def _covered(self, box: Ends, proof: Proof, k: int) -> None:
        """The parts of a cell cover the displacements that its cut pixel has, in the ball."""
        parts = [n for n, parent in enumerate(proof.parents) if parent == k]
        pixels = {proof.pixels[n] for n in parts}
        if len(pixels) != 1:
            raise ValueError(f"cell {k} is cut at {len(pixels)} pixels")
        (pixel,) = pixels
        low, high = box.lower[pixel].tolist(), box.upper[pixel].tolist()
        lines = []
        for axis in (0, 1):
            ends = {proof.begins[n][axis] for n in parts} | {proof.ends[n][axis] for n in parts}
            inner = {x for x in ends if low[axis] < x < high[axis]}
            lines.append(sorted({low[axis], high[axis]} | inner))
        for x0, x1 in zip(lines[0], lines[0][1:] or lines[0], strict=False):
            for y0, y1 in zip(lines[1], lines[1][1:] or lines[1], strict=False):
                near = [min(max(0.0, a), b) for a, b in ((x0, x1), (y0, y1))]
                size = float(np.linalg.norm(near, ord=float(self.threat.norm)))
                if size > self.threat.delta * (1 + CHECKED):
                    continue  # no displacement of the ball is there
                held = any(
                    proof.begins[n][0] <= x0
                    and x1 <= proof.ends[n][0]
                    and proof.begins[n][1] <= y0
                    and y1 <= proof.ends[n][1]
                    for n in parts
                )
                if not held:
                    raise ValueError(f"the parts of cell {k} leave out [{x0}, {x1}] x [{y0}, {y1}]")

    # Bounds

    def _pixels(self, box: Ends) -> Ends:
        """The pixels' intervals: at grid lines and ends for norm inf, else as `flow` has them."""
        if self.threat.norm != math.inf:
            region = Region(
                float(self.threat.norm),
                self.threat.delta,
                box.lower[None, None],
                box.upper[None, None],
            )
            free = Threat(self.threat.norm, self.threat.delta, border=self.threat.border)
            found = DeformedImage(self.image[None], free, region=region).box
            return Ends(found.lower[0], found.upper[0])
        low = torch.full_like(self.image, math.inf)
        high = torch.full_like(self.image, -math.inf)
        reach = math.ceil(self.threat.delta)
        stops = [float(t) for t in range(-reach, reach + 1)]
        for x in (-math.inf, *stops, math.inf):
            for y in (-math.inf, *stops, math.inf):
                point = torch.tensor([x, y], dtype=torch.float64)
                at = torch.minimum(torch.maximum(point, box.lower), box.upper)
                bent = warp(self.image[None], at[None])[0]
                low, high = torch.minimum(low, bent), torch.maximum(high, bent)
        return Ends(low - CHECKED, high + CHECKED)

    def _values(self, box: Ends, before: list[Ends] | None) -> list[Ends]:
        """Intervals of all values: layer by layer, and by rows where a neuron is open."""
        values = [self._pixels(box)]
        taken = {self.network.steps[k - 1].inputs[0] for k in self.network.activations}
        for number, step in enumerate(self.network.steps, 1):
            given = [values[k] for k in step.inputs]
            if isinstance(step.node, Affine):
                centres = [(x.lower + x.upper)[None] / 2 for x in given]
                radii = [(x.upper - x.lower)[None] / 2 for x in given]
                centre, radius = step.node(*centres)[0], step.node.spread(*radii)[0]
                size = self._size(number, values)
                radius = radius + CHECKED * (1 + centre.abs() + radius + size)
                found = Ends(centre - radius, centre + radius)
            else:
                ends = torch.stack([given[0].lower, given[0].upper])
                zero = torch.zeros_like(ends[0]).clamp(ends[0], ends[1])
                each = torch.stack([step.node(x) for x in (*ends, zero)])
                found = Ends(each.amin(0), each.amax(0))
            if before is not None:
                found = _meet(found, before[number])
            values.append(found)
            if number in taken:
                values[number] = self._refined(values, number)
        return values

    def _size(self, number: int, values: Sequence[Ends]) -> Tensor:
        """|W| |x| + |b| of an affine step: what the rounding of its sums grows with."""
        step = self.network.steps[number - 1]
        assert isinstance(step.node, Affine)
        largest = [torch.maximum(-values[k].lower, values[k].upper) for k in step.inputs]
        size = step.node.spread(*(x.abs()[None] for x in largest))[0]
        return size if step.node.offset is None else size + step.node.offset.abs()

    def _refined(self, values: list[Ends], value: int) -> Ends:
        """Better ends for the neurons of a value whose sign is open."""
        low, high = (x.flatten().clone() for x in values[value])
        open_ = ((low < 0) & (high > 0)).nonzero().squeeze(1)
        if len(open_):
            basis = torch.zeros((len(open_), low.numel()), dtype=torch.float64)
            basis[torch.arange(len(open_)), open_] = 1.0
            rows = torch.cat([basis, -basis]).unflatten(1, values[value].lower.shape)
            bound = self._substitute(rows, value, values, {}, {})
            low[open_] = torch.maximum(low[open_], bound[: len(open_)])
            high[open_] = torch.minimum(high[open_], -bound[len(open_) :])
        shape = values[value].lower.shape
        return Ends(low.view(shape), high.view(shape))

    def _substitute(
        self,
        rows: Tensor,
        value: int,
        values: Sequence[Ends],
        slopes: Mapping[int, Tensor],
        pulled: Mapping[int, Tensor],
    ) -> Tensor:
        """Lower bounds (R,) of rows of a value, the best of all places to stop.

        ``slopes``, by activation, replace the usual ones below; ``pulled``, sign times multiplier,
        is taken off where rows arrive at an activation's input.
        """
        waiting, constant = {value: rows}, torch.zeros(len(rows), dtype=torch.float64)
        size = torch.zeros_like(constant)
        best = torch.full((len(rows),), -math.inf, dtype=torch.float64)
        for number in range(value, 0, -1):
            if number not in waiting:
                continue
            step = self.network.steps[number - 1]
            if len(waiting) == 1 and not isinstance(step.node, Affine):
                best = torch.maximum(best, self._stop(waiting, constant, size, values))
            a = waiting.pop(number)
            if isinstance(step.node, Affine):
                parts = [part[0] for part in step.node.adjoint(a[None])]
                size = size + (a.abs() * self._size(number, values)).flatten(1).sum(1)
                if step.node.offset is not None:
                    offset = step.node.offset.expand(step.node.shape)
                    constant = constant + (a * offset).flatten(1).sum(1)
            else:
                assert isinstance(step.node, Hinge)
                ends = values[step.inputs[0]]
                below, above, lift = _lines(step.node, ends, slopes.get(number))
                up, down = a.clamp(min=0), a.clamp(max=0)
                gain = (down if step.node.sides[0] <= step.node.sides[1] else up) * lift
                constant, size = (
                    constant + gain.flatten(1).sum(1),
                    size + gain.abs().flatten(1).sum(1),
                )
                p = up * below + down * above
                steep = (up * below).abs() + (down * above).abs()
                largest = torch.maximum(-ends.lower, ends.upper).abs()
                size = size + (steep * largest).flatten(1).sum(1)
                parts = [p - pulled[number] if number in pulled else p]
            for k, part in zip(step.inputs, parts, strict=True):
                waiting[k] = waiting[k] + part if k in waiting else part
        return torch.maximum(best, self._stop(waiting, constant, size, values))

    @staticmethod
    def _stop(
        waiting: Mapping[int, Tensor],
        constant: Tensor,
        size: Tensor,
        values: Sequence[Ends],
    ) -> Tensor:
        """The rows' minimum over the intervals of the values where they wait."""
        total = constant
        for k, a in waiting.items():
            low, high = a.clamp(min=0) * values[k].lower, a.clamp(max=0) * values[k].upper
            total = total + (low + high).flatten(1).sum(1)
            size = size + (low.abs() + high.abs()).flatten(1).sum(1)
        found = total - CHECKED * (1 + size)
        return torch.where(torch.isnan(found), -math.inf, found)

    # Leaves

    def _planted(self, margins: Tensor, values: list[Ends], leaves: list[Leaf], k: int) -> Tensor:
        """The margins of a cell with leaves: each open one is covered, and every leaf holds."""
        margins = margins.clone()
        for row in range(len(margins)):
            mine = [leaf for leaf in leaves if leaf.row == row]
            if float(margins[row]) > 0 or not mine:
                continue
            if not _cover([_decisions(leaf) for leaf in mine]):
                raise ValueError(f"the leaves of margin {row} on cell {k} leave signs out")
            margins[row] = min(self._leaf(leaf, values) for leaf in mine)
        return margins

    def _leaf(self, leaf: Leaf, values: list[Ends]) -> float:
        """The bound of a leaf where its decisions hold."""
        values = list(values)
        slopes: dict[int, Tensor] = {}
        pulled: dict[int, Tensor] = {}
        for number in sorted(set(leaf.numbers.tolist())):
            node, (value,) = (
                self.network.steps[number - 1].node,
                self.network.steps[number - 1].inputs,
            )
            assert isinstance(node, Hinge)
            here = torch.from_numpy(np.flatnonzero(leaf.numbers == number))
            at = torch.from_numpy(leaf.entries[leaf.numbers == number]).long()
            sign, slope, pull = (
                torch.from_numpy(np.asarray(x, dtype=np.float64))[here]
                for x in (leaf.signs, leaf.slopes, leaf.pulls)
            )
            low, high = (x.flatten().clone() for x in values[value])
            low[at] = torch.where(sign > 0, low[at].clamp(min=0), low[at])
            high[at] = torch.where(sign < 0, high[at].clamp(max=0), high[at])
            if bool((low > high).any()):
                return math.inf  # no member has these signs
            shape = values[value].lower.shape
            values[value] = Ends(low.view(shape), high.view(shape))
            mine = torch.full_like(low, math.nan)
            mine[at] = slope.nan_to_num().clamp(min(node.sides), max(node.sides))
            slopes[number] = mine.view(shape)
            force = torch.zeros_like(low)
            force[at] = sign * pull.nan_to_num(0.0, 0.0, 0.0).clamp(min=0)
            pulled[number] = force.view(shape)
        row = self.rows[leaf.row : leaf.row + 1]
        return float(self._substitute(row, len(self.network), values, slopes, pulled))


def _meet(one: Ends, other: Ends) -> Ends:
    """What two true intervals have in common."""
    low, high = torch.maximum(one.lower, other.lower), torch.minimum(one.upper, other.upper)
    return Ends(torch.minimum(low, high), torch.maximum(low, high))


def _lines(node: Hinge, ends: Ends, given: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Slopes below and above a hinge on an interval, and its chord's value at zero.

    A slope that is given stands below a convex hinge wherever its interval is: every line through
    the origin with a slope between its sides does.
    """
    left, right = node.sides
    low, high = ends
    bent = (low < 0) & (high > 0)
    chord = (right * high - left * low) / torch.where(bent, high - low, 1.0)
    lift = torch.where(bent, right * high - chord * high, 0.0)
    side = torch.where(high > 0, torch.full_like(low, right), torch.full_like(low, left))
    free = torch.where(high > -low, torch.full_like(low, right), torch.full_like(low, left))
    if given is None:
        given = torch.full_like(low, math.nan)
    told = ~torch.isnan(given)
    other, inner = torch.where(bent, chord, side), torch.where(told, given, free)
    if left <= right:
        return torch.where(bent | told, inner, side), other, lift
    return other, torch.where(bent, inner, side), lift


Neuron = tuple[int, int]
"""An activation's number, and a flat place in it."""


def _decisions(leaf: Leaf) -> dict[Neuron, int]:
    """The signs that a leaf decides, by neuron."""
    names = zip(leaf.numbers.tolist(), leaf.entries.tolist(), leaf.signs.tolist(), strict=True)
    return {(number, entry): sign for number, entry, sign in names if sign}


def _cover(leaves: list[dict[Neuron, int]]) -> bool:
    """Whether every assignment of signs keeps to one of the leaves.

    They come from a tree: unless one of them decides nothing, some neuron is decided by all, and
    those with either sign cover it.
    """
    if any(not leaf for leaf in leaves):
        return True
    if not leaves:
        return False
    shared = set.intersection(*(set(leaf) for leaf in leaves))
    for neuron in shared:
        sides = [
            [
                {k: s for k, s in leaf.items() if k != neuron}
                for leaf in leaves
                if leaf[neuron] == sign
            ]
            for sign in (1, -1)
        ]
        if all(sides) and all(_cover(side) for side in sides):
            return True
    return False
