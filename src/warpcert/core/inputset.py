"""InputSet: what a network's input can be, and the one question every verifier asks it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from warpcert.core.interval import Interval
from warpcert.core.polytope import Polytope
from warpcert.core.shapes import Bool, Float


class Minimum(NamedTuple):
    """Lower bounds (B, R) of rows over an input set, and the duals (B, R, ...) behind them.

    The duals are a warm start for the same or similar rows; None where there are none.
    """

    bound: Tensor
    duals: Tensor | None = None


class Approach(NamedTuple):
    """About the minima (B, R) of rows, points (B, R, C, H, W) where they are, and duals.

    For searches: nothing is proved, and the points are near the set rather than in it.
    """

    value: Tensor
    point: Tensor
    duals: Tensor | None = None


class Rectangle(NamedTuple):
    """A part of an image: its first row and column, and how many of each there are."""

    top: int
    left: int
    height: int
    width: int


class InputSet(ABC):
    """A batch of sets of images (B, C, H, W), one for each image.

    A member is described by parameters: for bent images the field, for a box the image itself.
    """

    @property
    @abstractmethod
    def box(self) -> Interval:
        """An interval (B, C, H, W) that holds every member."""

    @property
    @abstractmethod
    def boxed(self) -> bool:
        """Whether the set is its box, so that nothing is lost by asking the box instead."""

    @property
    @abstractmethod
    def searches(self) -> bool:
        """Whether `minimise` has duals, for which more steps give better bounds."""

    @abstractmethod
    def minimise(
        self, rows: Tensor, warm: Tensor | None = None, steps: int | None = None
    ) -> Minimum:
        """A sound lower bound of <row, member> over all members, for rows (B, R, C, H, W).

        ``warm``: duals to start from; with any of them, NaN included, the bound is sound.
        ``steps``: how many steps to spend on better duals; None leaves it to the set, and 0
        evaluates those given (or none). The bound is differentiable in the rows; the gradient is
        the member (or the point of the relaxation) at which the minimum is taken.
        """

    def approach(self, rows: Tensor, warm: Tensor | None = None, steps: int = 0) -> Approach:
        """About where `minimise` would end, for rows (B, R, C, H, W) of a search.

        Here it asks `minimise`; a set that can be quicker when nothing is to be proved says how.
        """
        with torch.enable_grad():
            asked = rows.detach().clone().requires_grad_()
            least = self.minimise(asked, warm, steps)
            (point,) = torch.autograd.grad(least.bound.sum(), asked)
        return Approach(least.bound.detach(), point, least.duals)

    @abstractmethod
    def select(self, images: Tensor) -> InputSet:
        """The sets of some images, by their numbers (n,), repeated as they are."""

    def narrow(self) -> tuple[InputSet, Rectangle | None]:
        """The sets on a rectangle outside which all members of an image are alike, and that one.

        For rows that are zero outside of it: what `minimise` proves of rows on the rectangle holds
        for them. None where the rectangle is the whole image, as here.
        """
        return self, None

    @abstractmethod
    def realise(self, v: Tensor) -> Float[Tensor, "B C H W"]:
        """The images that parameters stand for."""

    @abstractmethod
    def project(self, v: Tensor) -> Tensor:
        """Parameters of members near those given."""

    @abstractmethod
    def contains(self, v: Tensor) -> Bool[Tensor, " B"]:
        """Which parameters are members', their numbers taken as exact: how a witness is tested."""

    @abstractmethod
    def sample(self, n: int, generator: Generator | None = None) -> Tensor:
        """Parameters (B, n, ...) of members to try: the plainest first, then extreme and random.

        They are drawn once for all images, so that what an image gets does not depend on others.
        """

    @abstractmethod
    def steepest(self, slopes: Tensor) -> Tensor:
        """Parameters of members v at which <slopes, v> is low, for slopes like parameters.

        A direction for searches, which need not be the lowest, nor in the set up to the last bit.
        """

    @abstractmethod
    def minimiser(self, rows: Float[Tensor, "B C H W"], steps: int | None = None) -> Tensor:
        """Parameters of members at which <row, member> is low, one row for each image.

        Where `minimise` is exact it is lowest there. Otherwise this is made of where its search
        ends after ``steps``.
        """

    @abstractmethod
    def polytope(self) -> list[Polytope]:
        """The same sets, or larger ones, as linear constraints: one polytope for each image."""
