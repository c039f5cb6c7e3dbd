"""Proof: what a tree has closed, so that other code can check it again."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from warpcert.bound import Nodes, Reduced
from warpcert.verify.branch.cell import Cell

CUT, BOUNDED, PLANTED = 0, 1, 2
"""What became of a cell: it was cut, closed by bounds alone, or closed by leaves."""

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Leaf:
    """A node that was proved: a margin on a cell, with the signs of some neurons decided.

    ``numbers`` and ``entries`` (U,) name the open neurons, by activation and flat place; ``signs``,
    ``slopes`` and ``pulls`` (U,) belong to them; ``duals`` are the flow's, or empty.
    """

    cell: int
    row: int
    numbers: Ints
    entries: Ints
    signs: Ints
    slopes: Floats
    pulls: Floats
    duals: Floats


@dataclass(eq=False)
class Proof:
    """The cells of a tree, and the leaves on those that needed some.

    Cell 0 is the whole threat. Cell k > 0 came from cutting cell ``parents[k]`` at the pixel
    ``pixels[k]`` (row, column), whose displacement is in the box from ``begins[k]`` to ``ends[k]``;
    ``fates`` say what became of it.
    """

    parents: list[int] = field(default_factory=lambda: [-1])
    pixels: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    begins: list[tuple[float, float]] = field(default_factory=lambda: [(0.0, 0.0)])
    ends: list[tuple[float, float]] = field(default_factory=lambda: [(0.0, 0.0)])
    fates: list[int] = field(default_factory=lambda: [-1])
    leaves: list[Leaf] = field(default_factory=list)

    def cut(self, parent: int, pixel: tuple[int, int], lower: Tensor, upper: Tensor) -> int:
        """Enter a part of a cell, with its boxes (H, W, 2); returns the part's number."""
        self.fates[parent] = CUT
        self.parents.append(parent)
        self.pixels.append(pixel)
        for ends, boxes in ((self.begins, lower), (self.ends, upper)):
            x, y = boxes[pixel].tolist()
            ends.append((x, y))
        self.fates.append(-1)
        return len(self.parents) - 1

    def close(self, cell: Cell, leaves: list[Leaf]) -> None:
        """Enter that a cell is proved."""
        self.fates[cell.number] = PLANTED if leaves else BOUNDED
        self.leaves += leaves

    def save(self, path: str | Path) -> None:
        """Write an .npz file: plain arrays, nothing that is executed when it is read."""
        arrays: dict[str, npt.NDArray[np.generic]] = {
            "parents": np.array(self.parents, dtype=np.int64),
            "pixels": np.array(self.pixels, dtype=np.int64),
            "begins": np.array(self.begins, dtype=np.float64),
            "ends": np.array(self.ends, dtype=np.float64),
            "fates": np.array(self.fates, dtype=np.int64),
        }
        names = [part.name for part in fields(Leaf)]
        for number, leaf in enumerate(self.leaves):
            for name in names:
                arrays[f"leaf{number}.{name}"] = np.asarray(getattr(leaf, name))
        np.savez_compressed(Path(path), **arrays)  # type: ignore[arg-type]

    @staticmethod
    def load(path: str | Path) -> Proof:
        """Read what `save` wrote; what is none is a `ValueError`."""
        try:
            with np.load(Path(path), allow_pickle=False) as file:
                arrays = dict(file)
            count = sum(name.endswith(".cell") for name in arrays)
            leaves = [
                _leaf({p.name: arrays[f"leaf{k}.{p.name}"] for p in fields(Leaf)})
                for k in range(count)
            ]
            return Proof(
                arrays["parents"].tolist(),
                [(int(row), int(column)) for row, column in arrays["pixels"]],
                [(float(x), float(y)) for x, y in arrays["begins"]],
                [(float(x), float(y)) for x, y in arrays["ends"]],
                arrays["fates"].tolist(),
                leaves,
            )
        except (KeyError, OSError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is not a proof: {error}") from None


def _leaf(parts: dict[str, npt.NDArray[Any]]) -> Leaf:
    """A leaf of its arrays."""
    return Leaf(
        int(parts["cell"]),
        int(parts["row"]),
        parts["numbers"],
        parts["entries"],
        parts["signs"],
        parts["slopes"],
        parts["pulls"],
        parts["duals"],
    )


def leaves_of(reduced: Reduced, nodes: Nodes, cell: int) -> list[Leaf]:
    """Nodes that are proved, as leaves."""
    none = torch.zeros(0, dtype=torch.int64)
    numbers = torch.cat([none, *(torch.full((len(b),), b.number) for b in reduced.blocks)])
    entries = torch.cat([none, *(b.entries.cpu() for b in reduced.blocks)])
    signs, slopes, pulls = (x.cpu().numpy() for x in (nodes.signs, nodes.slopes, nodes.pulls))
    duals = [np.zeros(0, dtype=np.float32)] * len(nodes)
    if nodes.duals is not None:
        duals = list(nodes.duals.cpu().numpy())
    names = numbers.numpy(), entries.numpy()
    return [
        Leaf(cell, int(nodes.rows[k]), *names, signs[k], slopes[k], pulls[k], duals[k])
        for k in range(len(nodes))
    ]
