"""Refine: better bounds for the entries of a layer that are still open."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from warpcert.bound.known import Known
from warpcert.bound.part import Part, parts, spare
from warpcert.bound.stage import Found, Stage
from warpcert.core.inputset import InputSet
from warpcert.core.memory import chunk_size
from warpcert.core.shapes import Bool, Float
from warpcert.net import Activation


def refine(
    known: Known,
    inputs: InputSet,
    value: int,
    stages: Sequence[Stage],
    wanted: Bool[Tensor, "B ..."],
    intersect: bool = True,
) -> None:
    """Bound wanted entries of the newest value by stages, each for what the last left open.

    Sound, because an entry is a row, and minus its upper end the lower bound of minus that row.
    What is known is intersected with it or, without ``intersect``, replaced.
    """
    now = known.values[value]
    lower, upper = (
        end.clone(memory_format=torch.contiguous_format) for end in (now.lower, now.upper)
    )
    if not intersect:
        lower, upper = torch.full_like(lower, -torch.inf), torch.full_like(upper, torch.inf)
    for stage in stages:
        size = chunk_size(2 * stage.row_bytes(known, value), lower.device)

        def work(part: Part, stage: Stage = stage) -> None:
            _bound_entries(part, known, inputs, value, stage, (lower, upper))

        for part in parts(wanted.flatten(1), size):
            spare(work, part)
        if intersect:
            known.tighten(value, lower, upper)
            wanted = wanted & open_entries(known, value)
    if not intersect:
        known.replace(value, lower, upper)


def everywhere(known: Known, value: int) -> Bool[Tensor, "B ..."]:
    """All entries of a value."""
    return torch.ones_like(known.values[value].lower, dtype=torch.bool)


def open_entries(known: Known, value: int) -> Bool[Tensor, "B ..."]:
    """The entries at which some activation that takes them is bent on their interval."""
    now = known.values[value]
    found = torch.zeros_like(now.lower, dtype=torch.bool)
    for step in known.network.steps:
        if isinstance(step.node, Activation) and value in step.inputs:
            found |= step.node.bent(now.lower, now.upper)
    return found


def bound_rows(
    known: Known,
    inputs: InputSet,
    rows: Float[Tensor, "B S ..."],
    value: int,
    stage: Stage,
    start: Found | None = None,
) -> Found:
    """Bound rows by one stage, in parts that fit into memory."""
    every = torch.ones(rows.shape[:2], dtype=torch.bool, device=rows.device)
    found: list[tuple[Part, Found]] = []

    def work(part: Part) -> None:
        pick = part.images[:, None], part.entries
        begin = None
        if start is not None:
            begin = Found(
                start.bound[pick],
                {k: slope[pick] for k, slope in start.slopes.items()},
                None if start.duals is None else start.duals[pick],
            )
        answer = stage(
            known.select(part.images), inputs.select(part.images), rows[pick], value, begin
        )
        found.append((part, answer))

    size = chunk_size(stage.row_bytes(known, value), rows.device)
    for part in parts(every, size):
        spare(work, part)
    return _joined(found, rows.shape[:2])


def _joined(found: list[tuple[Part, Found]], shape: torch.Size) -> Found:
    """Answers for all rows, put where they belong."""

    def join(pieces: list[Tensor]) -> Tensor:
        whole = pieces[0].new_empty((*shape, *pieces[0].shape[2:]))
        for (part, _), piece in zip(found, pieces, strict=True):
            whole[part.images[:, None], part.entries] = piece
        return whole

    answers = [answer for _, answer in found]
    duals = [answer.duals for answer in answers if answer.duals is not None]
    return Found(
        join([answer.bound for answer in answers]),
        {k: join([answer.slopes[k] for answer in answers]) for k in answers[0].slopes},
        join(duals) if len(duals) == len(answers) else None,
    )


def _bound_entries(
    part: Part,
    known: Known,
    inputs: InputSet,
    value: int,
    stage: Stage,
    ends: tuple[Tensor, Tensor],
) -> None:
    """Improve both ends of some entries in place."""
    lower, upper = (end.flatten(1) for end in ends)  # views
    count, rows = part.entries.shape
    basis = lower.new_zeros((count, rows, lower.shape[1]))
    basis.scatter_(2, part.entries[..., None], 1.0)
    both = torch.cat([basis, -basis], dim=1).unflatten(2, ends[0].shape[1:])
    bound = stage(known.select(part.images), inputs.select(part.images), both, value).bound
    pick = part.images[:, None], part.entries
    lower[pick] = torch.maximum(lower[pick], bound[:, :rows])
    upper[pick] = torch.minimum(upper[pick], -bound[:, rows:])
