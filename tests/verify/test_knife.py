"""What cutting a cell should bring."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from tests.flow.pictures import picture
from warpcert import Threat
from warpcert.flow.split import whole
from warpcert.verify.branch.cell import Cell
from warpcert.verify.branch.knife import Knife


@pytest.mark.parametrize("gamma", [0.0, 0.01, 0.3, math.inf])
def test_how_many_cuts_should_close_a_cell(gamma: float) -> None:
    """Few where one pixel confines the others; none will do where they are free."""
    threat, image = Threat("inf", 0.5, gamma), picture("random", 1, 6, 6, seed=1)[0]
    lower, upper, _ = whole(threat, (6, 6))
    cell = Cell(lower[0], upper[0], {}, torch.tensor([-1.0]), loose=-1.0)
    knife = Knife(threat, image, torch.ones_like(image))
    found = knife.cuts(cell, 3.0)
    if math.isinf(gamma):
        assert math.isinf(found)
        almost = replace(cell, loose=-1e-3)  # one pixel of 36 would do, if it were all that counts
        assert math.isinf(knife.cuts(almost, 3.0))
    elif gamma == 0:
        assert found == pytest.approx(math.log2(4 / 3))  # a quarter of the width must go
    else:
        assert found > math.log2(4 / 3)
    assert math.isinf(knife.cuts(cell, -1.0))
