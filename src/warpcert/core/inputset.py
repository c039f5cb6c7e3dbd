"""InputSet: what a network's input can be, and the one question every verifier asks it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor

from warpcert.core.interval import Interval
from warpcert.core.shapes import Float


class InputSet(ABC):
    """A batch of sets of images (B, C, H, W), one for each image.

    A member is described by parameters: for bent images the field, for a box the image itself.
    """

    @property
    @abstractmethod
    def box(self) -> Interval:
        """An interval (B, C, H, W) that holds every member."""

    @abstractmethod
    def minimise(self, rows: Tensor) -> Float[Tensor, "B R"]:
        """A sound lower bound of <row, member> over all members, for rows (B, R, C, H, W).

        Differentiable in the rows; the gradient is the member (or the point of the relaxation)
        at which the minimum is taken.
        """

    @abstractmethod
    def realise(self, v: Tensor) -> Float[Tensor, "B C H W"]:
        """The images that parameters stand for."""

    @abstractmethod
    def project(self, v: Tensor) -> Tensor:
        """Parameters of members near those given."""
