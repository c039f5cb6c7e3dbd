"""Polyhedral: an input set that answers by linear programs over its polytope."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from warpcert.core import rounding
from warpcert.core.box import Box
from warpcert.core.checks import check_rows
from warpcert.core.clock import tick
from warpcert.core.inputset import InputSet, Minimum
from warpcert.core.interval import Interval
from warpcert.core.polytope import Polytope
from warpcert.core.shapes import Bool, Float
from warpcert.solve.program import Program, Solver


@dataclass(frozen=True, eq=False)
class Polyhedral(InputSet):
    """The same images as ``wrapped``, with bounds by one linear program for each row.

    This is the paper's way; ``time_limit`` is in seconds for each program. The solvers are kept
    from one question to the next: the constraints stay, only the cost changes.
    """

    wrapped: InputSet
    time_limit: float | None = None
    _solvers: list[tuple[Polytope, Solver]] = field(default_factory=list, repr=False)

    @property
    def box(self) -> Interval:
        """The wrapped set's."""
        return self.wrapped.box

    @property
    def boxed(self) -> bool:
        """As the wrapped set is."""
        return self.wrapped.boxed

    @property
    def searches(self) -> bool:
        """A program is solved to its end."""
        return False

    def minimise(
        self, rows: Tensor, warm: Tensor | None = None, steps: int | None = None
    ) -> Minimum:
        """Lower bounds of <row, image> over the polytope, or over the box if that is higher.

        Sound, because the polytope holds every member and a bound is proved from the program's
        duals, see `dual_bound`: a search that ends early only loses tightness. The gradient is the
        point of the polytope where the search ended.
        """
        del warm, steps  # the solver keeps its own, and decides for itself
        check_rows(rows, self.box.lower)
        bound: Tensor = _Programs.apply(rows, self)  # type: ignore[no-untyped-call]
        return Minimum(bound)

    def select(self, images: Tensor) -> Polyhedral:
        """The sets of some images; programs that are there already are shared."""
        chosen = [self._solvers[k] for k in images.tolist()] if self._solvers else []
        return replace(self, wrapped=self.wrapped.select(images), _solvers=chosen)

    def realise(self, v: Tensor) -> Float[Tensor, "B C H W"]:
        """As the wrapped set does."""
        return self.wrapped.realise(v)

    def project(self, v: Tensor) -> Tensor:
        """As the wrapped set does."""
        return self.wrapped.project(v)

    def contains(self, v: Tensor) -> Bool[Tensor, " B"]:
        """As the wrapped set does."""
        return self.wrapped.contains(v)

    def sample(self, n: int, generator: Generator | None = None) -> Tensor:
        """As the wrapped set does."""
        return self.wrapped.sample(n, generator)

    def steepest(self, slopes: Tensor) -> Tensor:
        """As the wrapped set does."""
        return self.wrapped.steepest(slopes)

    def minimiser(self, rows: Float[Tensor, "B C H W"], steps: int | None = None) -> Tensor:
        """As the wrapped set does."""
        return self.wrapped.minimiser(rows, steps)

    def polytope(self) -> list[Polytope]:
        """The wrapped set's."""
        return self.wrapped.polytope()

    def solvers(self) -> list[tuple[Polytope, Solver]]:
        """For each image its polytope and a solver for it, made when they are first needed."""
        if not self._solvers:
            for polytope in self.polytope():
                solver = Solver(Program.over(polytope), time_limit=self.time_limit)
                self._solvers.append((polytope, solver))
        return self._solvers


class _Programs(torch.autograd.Function):
    """The least values by linear programs and their gradient, the points where they are taken."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, polyhedral: Polyhedral) -> Tensor:
        exact = rows.detach().to(torch.float64)
        boxed = Box(polyhedral.box).minimise(exact).bound
        bound, point = np.full(rows.shape[:2], -np.inf), np.zeros(rows.shape)
        low, high = (x.detach().cpu().numpy() for x in (polyhedral.box.lower, polyhedral.box.upper))
        for k, (polytope, solver) in enumerate(polyhedral.solvers()):
            for r, row in enumerate(exact[k].cpu().numpy()):
                tick()
                solution = solver.solve(Program.over(polytope, row).cost)
                bound[k, r] = solution.bound
                if solution.point is None:
                    point[k, r] = np.where(row > 0, low[k], high[k])
                else:
                    point[k, r] = solution.point[polytope.image]
        best = torch.maximum(boxed, torch.from_numpy(bound).to(boxed))
        ctx.save_for_backward(torch.from_numpy(point).to(rows))
        return rounding.down(best, rows.dtype)

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, None]:
        (grad,), (point,) = outputs, ctx.saved_tensors
        return grad[..., None, None, None] * point, None
