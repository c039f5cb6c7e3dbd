"""Pool: open nodes, the worst at hand."""

from __future__ import annotations

from dataclasses import fields

import torch
from torch import Tensor

from warpcert.bound import Nodes

NAMES = tuple(field.name for field in fields(Nodes))


class Pool:
    """Nodes in tables that grow; what is taken leaves room for what comes.

    Memory may run out in any of its methods: then nothing was taken or put, and nothing is lost.
    """

    def __init__(self) -> None:
        self._columns: dict[str, Tensor | None] = {}
        self._bound = torch.empty(0, dtype=torch.float64)  # inf where a slot is free; on the CPU
        self._row = torch.empty(0, dtype=torch.int64)  # of every node that is there; on the CPU

    def __len__(self) -> int:
        return int((self._bound < torch.inf).sum())

    @property
    def lowest(self) -> float:
        """The least bound of all nodes; inf when there are none."""
        return float(self._bound.min()) if len(self._bound) else torch.inf

    @property
    def node_bytes(self) -> int:
        """Memory that one node takes."""
        columns = [x for x in self._columns.values() if x is not None]
        return sum(x[0].numel() * x.element_size() for x in columns)

    def rows(self) -> dict[int, float]:
        """The least bound of the open nodes of every margin that has some."""
        if not len(self._row):
            return {}
        least = torch.full((int(self._row.max()) + 1,), torch.inf, dtype=torch.float64)
        least.scatter_reduce_(0, self._row, self._bound, "amin")  # inf, where a slot is free
        return {row: bound for row, bound in enumerate(least.tolist()) if bound < torch.inf}

    def put(self, nodes: Nodes) -> None:
        """Add nodes; none of them is proved, so their bounds are at most 0."""
        if not len(nodes):
            return
        free = (self._bound == torch.inf).nonzero().squeeze(1)
        if len(free) < len(nodes):
            self._grow(nodes, max(len(nodes) - len(free), len(self._bound)))
            free = (self._bound == torch.inf).nonzero().squeeze(1)
        slots = free[: len(nodes)]
        for name in NAMES:
            column, part = self._columns[name], getattr(nodes, name)
            if column is not None:
                column[slots.to(column.device)] = part.to(column.dtype)
        rows, bounds = nodes.rows.cpu(), nodes.bound.cpu()
        bounds = bounds.nan_to_num(nan=-torch.inf)  # no number is no proof
        self._row[slots], self._bound[slots] = rows, bounds

    def take(self, count: int, *, best: bool = False) -> Nodes:
        """Remove the nodes with the least bounds or, to save room, those nearest to a proof."""
        live = (self._bound < torch.inf).nonzero().squeeze(1)
        first = self._bound[live].topk(min(count, len(live)), largest=best).indices
        slots = live[first]
        parts = []
        for name in NAMES:
            column = self._columns[name]
            parts.append(None if column is None else column[slots.to(column.device)])
        self._bound[slots] = torch.inf
        return Nodes(*parts)  # type: ignore[arg-type]

    def tighten(self, place: slice, lower: Tensor, upper: Tensor) -> None:
        """Let all nodes know better bounds of some neurons; where none is left, of their lower end.

        Sound, because bounds that hold everywhere hold on a part, and of a part without members
        everything does.
        """
        ends = self._columns.get("lower"), self._columns.get("upper")
        if ends[0] is None or ends[1] is None:
            return
        low = torch.maximum(ends[0][:, place], lower)
        high = torch.maximum(torch.minimum(ends[1][:, place], upper), low)
        ends[0][:, place], ends[1][:, place] = low, high

    def _grow(self, like: Nodes, more: int) -> None:
        """Add free slots, in all columns or, where memory runs out on the way, in none."""
        grown: dict[str, Tensor | None] = {}
        for name in NAMES:
            part = getattr(like, name)
            old = self._columns.get(name)
            if part is None:
                grown[name] = None
                continue
            fresh = part.new_empty((more, *part.shape[1:]))
            grown[name] = fresh if old is None else torch.cat([old, fresh])
        bound = torch.cat([self._bound, torch.full((more,), torch.inf, dtype=torch.float64)])
        row = torch.cat([self._row, torch.zeros(more, dtype=torch.int64)])
        self._bound, self._row, self._columns = bound, row, grown
