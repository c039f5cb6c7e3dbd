"""No cell is ever lost, and what is said of the whole holds for the worst of them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.flow.pictures import draw, picture
from tests.verify.networks import brightness
from warpcert import DeformedImage, Threat
from warpcert.bound import IntervalPropagation, margin_rows
from warpcert.core.errors import Unsound
from warpcert.flow.split import split
from warpcert.verify.branch import Effort
from warpcert.verify.branch.cell import Cell, layers_of
from warpcert.verify.branch.ledger import Ledger
from warpcert.verify.branch.scene import Scene

THREAT = Threat("inf", 0.5, 0.1)


def ledger_of(margin: float = -1.0) -> Ledger:
    """The whole threat to a picture; nothing is proved of it but a margin."""
    network, image = brightness(0.2), picture("random", 1, 4, 4, seed=2)
    rows = margin_rows(torch.tensor([0]), network.classes)
    scene = Scene(network, image, THREAT, rows, Effort())
    known = IntervalPropagation()(network, DeformedImage(image, THREAT), rows)
    reach = torch.full((4, 4, 2), THREAT.delta, dtype=torch.float64)
    margins = torch.full_like(known.margins[0], margin)
    return Ledger(scene, Cell(-reach, reach, layers_of(known, 0), margins))


def cut(ledger: Ledger, pixel: tuple[int, int]) -> None:
    """Replace the first cell that waits by its parts."""
    cell = ledger.cells.pop(0)
    at, axes = torch.tensor([pixel]), torch.ones((1, 2), dtype=torch.bool)
    parts = split(THREAT, cell.lower[None], cell.upper[None], at, axes)
    for lower, upper in zip(parts.lower, parts.upper, strict=True):
        ledger.part(cell, pixel, lower, upper)


def covered(ledger: Ledger) -> bool:
    """Whether every field is in a cell, wherever that is."""
    fields = THREAT.sample((4, 4), 300, generator=draw(3), dtype=torch.float64)
    cells = [*ledger.cells, *ledger.held.values(), *ledger.stopped]
    inside = [
        ((c.lower - 1e-12 <= fields) & (fields <= c.upper + 1e-12)).flatten(1).all(1) for c in cells
    ]
    return bool(torch.stack(inside).any(0).all())


@pytest.mark.parametrize("count", [0, 1, 3, 4, 9])
def test_cells_are_held_or_wait(count: int) -> None:
    ledger = ledger_of()
    cut(ledger, (1, 1))
    cut(ledger, (2, 3))
    before = list(ledger.cells)
    assert len(before) == ledger.open == 7 and covered(ledger)
    ledger.hold(count)
    assert [*ledger.held.values(), *ledger.cells] == before
    assert len(ledger.held) == min(count, 7) and ledger.open == 7 and covered(ledger)


def test_parts_know_what_their_cell_knows() -> None:
    ledger = ledger_of(-0.25)
    cut(ledger, (0, 0))
    assert all(cell.level == 1 and cell.worst == -0.25 for cell in ledger.cells)
    assert all(cell.layers is ledger.root.layers for cell in ledger.cells)


def test_the_worst_margin_is_that_of_all_places() -> None:
    ledger = ledger_of()
    cut(ledger, (1, 1))
    waiting, held, stopped, done = (
        replace(cell, margins=torch.full_like(cell.margins, value))
        for cell, value in zip(ledger.cells, (-1.0, -2.0, -3.0, 4.0), strict=True)
    )
    ledger.cells, ledger.held, ledger.stopped = [waiting], {0: held}, [stopped]
    ledger.close(done)
    assert ledger.open == 3 and float(ledger.margins.min()) == -3.0
    ledger.stopped = []
    assert float(ledger.margins.min()) == -2.0
    ledger.held = {}
    assert float(ledger.margins.min()) == -1.0
    ledger.cells = []
    assert not ledger.open and float(ledger.margins.min()) == 4.0


def test_what_is_closed_last_does_not_hide_what_was_closed_before() -> None:
    ledger = ledger_of()
    for value in (2.0, 1.0, 3.0):
        ledger.close(replace(ledger.root, margins=torch.full_like(ledger.root.margins, value)))
    ledger.cells = []
    assert float(ledger.margins.min()) == 1.0


def test_a_proof_of_the_whole_closes_all() -> None:
    ledger = ledger_of()
    cut(ledger, (1, 1))
    ledger.stopped = [ledger.cells.pop()]
    ledger.know(replace(ledger.root, margins=torch.full_like(ledger.root.margins, -0.5)))
    assert ledger.open == 4 and all(cell.worst == -0.5 for cell in ledger.cells)
    ledger.know(replace(ledger.root, margins=torch.full_like(ledger.root.margins, 0.5)))
    assert not ledger.open and float(ledger.margins.min()) == 0.5


def test_only_what_is_proved_is_closed() -> None:
    """Cells are bounded as they are; those that stay open stay where they were."""
    ledger = ledger_of(-math.inf)
    cut(ledger, (1, 1))
    ledger.hold(4)
    before = dict(ledger.held)
    ledger.filter(IntervalPropagation())
    truth = [_lowest(ledger, cell) for cell in before.values()]
    for number, least in enumerate(truth):
        assert (number in ledger.held) == (not least > 0)
    for number, cell in ledger.held.items():
        assert cell.worst == pytest.approx(truth[number], abs=1e-9)
    closed = [least for least in truth if least > 0]
    if closed:
        assert float(ledger.proved.min()) == pytest.approx(min(closed), abs=1e-9)


def _lowest(ledger: Ledger, cell: Cell) -> float:
    """The least margin on a cell with free pixels: of a linear network it is exact."""
    inputs = ledger.scene.inputs([cell], coupled=False)
    row: Tensor = ledger.scene.rows
    return float(IntervalPropagation()(ledger.scene.network, inputs, row).margins.min())


def test_a_cell_without_members_is_a_defect() -> None:
    ledger = ledger_of()
    with pytest.raises(Unsound, match="every node of a cell is empty"):
        ledger.close(replace(ledger.root, margins=torch.full_like(ledger.root.margins, math.inf)))
