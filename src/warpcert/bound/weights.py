"""Weights: a matrix that many rows and many points are multiplied with."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import torch
from torch import Tensor

from warpcert.core.shapes import Float, Int

THIN = 0.15
"""Matrices with no more than this share of non-zero entries are multiplied by those alone.
Measured on one core, from 20 x 400 to 520 x 3072: 2 to 15 times quicker where neurons of a
convolution see 2 to 7 per cent of the pixels, as quick as dense ones at 20 to 30 per cent."""


class _Sparse(NamedTuple):
    """A matrix (n, k) by its non-zero entries, and its transpose."""

    down: Tensor
    across: Tensor


@final
@dataclass(frozen=True, eq=False)
class Weights:
    """A matrix (n, k): how n neurons depend on k pixels.

    Where it is thin, and on a CPU, only the entries that are not zero are multiplied. All sums are
    sums of the same products then, in another order and without those that are zero, so what is
    known of their rounding holds. Rows are then in memory one pixel after the other: the same
    tensors, with other strides.
    """

    matrix: Float[Tensor, "n k"]

    def __len__(self) -> int:
        return len(self.matrix)

    def float(self) -> Weights:
        """The same in float32."""
        return Weights(self.matrix.float())

    def take(self, index: Int[Tensor, " N"]) -> Float[Tensor, "N k"]:
        """Some rows."""
        if self._sparse is None:
            return self.matrix[index]
        return self._turned[:, index].T

    def back(
        self, rows: Float[Tensor, "N k"], weights: Float[Tensor, "N n"]
    ) -> Float[Tensor, "N k"]:
        """Rows, and weights @ matrix added to them."""
        if self._sparse is None:
            return torch.addmm(rows, weights, self.matrix)
        return torch.addmm(rows.T, self._sparse.across, weights.T).T

    def forth(self, points: Float[Tensor, "N k"]) -> Float[Tensor, "N n"]:
        """What n neurons are at N points: points @ matrix.T."""
        if self._sparse is None:
            return points @ self.matrix.T
        return (self._sparse.down @ points.T).T.contiguous()

    @cached_property
    def _sparse(self) -> _Sparse | None:
        matrix = self.matrix
        able = matrix.device.type == "cpu" and torch.backends.mkl.is_available()
        if not able or not matrix.numel() or len(matrix.nonzero()) > THIN * matrix.numel():
            return None
        with warnings.catch_warnings():  # that their interface may change
            warnings.filterwarnings("ignore", "Sparse CSR tensor support", UserWarning)
            return _Sparse(matrix.to_sparse_csr(), self._turned.to_sparse_csr())

    @cached_property
    def _turned(self) -> Float[Tensor, "k n"]:
        return self.matrix.T.contiguous()
