"""Recorded: a step of training that a GPU plays back as a whole."""

from __future__ import annotations

import warnings
from dataclasses import replace

import torch
from torch import Tensor

from warpcert.train.step import Draw, Step

WARM = 3
"""Steps that are done one kernel at a time before the recording, as CUDA graphs want it."""


class Recorded:
    """A `Step` whose kernels are launched together, as a CUDA graph.

    A small network's step is hundreds of kernels of a few microseconds: launched one by one, the
    host is what takes the time. All draws must have the shapes of the first. Where a step cannot
    be recorded it goes on as it is, with a warning.
    """

    def __init__(self, step: Step) -> None:
        self.step = step
        self.count = 0
        self.possible = True
        self.held: Draw | None = None
        self.graph: torch.cuda.CUDAGraph | None = None
        self.loss: Tensor | None = None

    def __call__(self, draw: Draw) -> Tensor:
        """What the step returns; the next call overwrites it."""
        if not self.possible:
            return self.step(draw)
        held = self._hold(draw)
        self.count += 1
        if self.graph is None and self.count > WARM and not self._record(held):
            return self.step(draw)
        if self.graph is None or self.loss is None:
            return self._aside(held)
        self.graph.replay()
        return self.loss

    def _hold(self, draw: Draw) -> Draw:
        """The draw, copied to where the graph looks for it."""
        if self.held is None:
            self.held = replace(
                draw,
                which=draw.which.clone(),
                dials=draw.dials.clone(),
                shifts=None if draw.shifts is None else draw.shifts.clone(),
                moves=None if draw.moves is None else draw.moves.clone(),
            )
        else:
            for mine, new in zip(self.held.tensors, draw.tensors, strict=True):
                mine.copy_(new)
        return self.held

    def _aside(self, draw: Draw) -> Tensor:
        """The step on another stream: what it allocates must not be the main stream's."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            loss = self.step(draw)
        torch.cuda.current_stream().wait_stream(stream)
        return loss.clone()

    def _record(self, draw: Draw) -> bool:
        """Record the step without doing it; whether that worked."""
        graph = torch.cuda.CUDAGraph()
        self.step.optimiser.zero_grad(set_to_none=True)
        try:
            with torch.cuda.graph(graph):
                self.loss = self.step(draw)
        except RuntimeError as error:
            torch.cuda.synchronize()
            self.possible, self.held, self.loss = False, None, None
            line = " ".join(str(error).split())[:200]
            warnings.warn(f"the step cannot be recorded, so it is slower: {line}", stacklevel=2)
            return False
        self.graph = graph
        return True
