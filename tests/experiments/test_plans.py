"""Plans say what is run and what was published, and nothing that does not exist."""

from __future__ import annotations

import math

import pytest

from warpcert import experiments
from warpcert.data import ZOO
from warpcert.experiments.plan import PLANS
from warpcert.experiments.tables import OURS, PAPER


@pytest.mark.parametrize("name", experiments.names())
def test_a_plan_names_what_exists(name: str) -> None:
    plan = experiments.load(name)
    source = plan.rows
    engines = {run.engine.name for run in source.runs}
    ours = [run for run in source.runs if not run.subject.sha256]
    assert {run.network for run in ours} <= set(ZOO)
    assert all(run.images.startswith(ZOO[run.network].dataset) for run in ours)
    assert len({run.name for run in source.runs}) == len(source.runs)  # each has its own file
    for column in plan.columns:
        first, engine, *_ = column.split()
        assert engine in (PAPER if first == "paper" else engines)
        assert first == "paper" or first in OURS
    for option, known in ((plan.quick.engines, engines), (plan.quick.networks, set(ZOO))):
        assert set(option or ()) <= known
    for network, engine, *threat in source.published:
        assert network in {run.network for run in source.runs} and engine in PAPER
        places = [(r.norm, d, g) for r in source.runs for d in r.deltas for g in r.gammas]
        assert tuple(threat) in places


def test_every_plan_has_its_place() -> None:
    files = {path.stem for path in PLANS.glob("*.toml")} - {"order"}
    assert files == set(experiments.names())


def test_published_numbers_stand_where_they_belong() -> None:
    """A few cells of the paper's tables, read off by eye."""
    table = experiments.load("table1").published
    milp = table["mnist-convsmall-ibp", "milp", math.inf, 0.5, 0.1]
    assert (milp.rate, milp.seconds) == (69, 34.6)
    deeppoly = table["cifar10-convmed-ibp", "deeppoly", math.inf, 0.3, 0.001]
    assert (deeppoly.rate, deeppoly.seconds) == (58, 173.2)
    swapped = table["mnist-convsmall-pgd", "deeppoly", math.inf, 0.5, 0.001]
    assert swapped.seconds == 85.6
    norms = experiments.load("table2").published
    assert norms["mnist-convsmall-ibp", "milp", 2.0, 0.7, math.inf].rate == 33
    assert norms["mnist-convsmall-ibp", "deeppoly", 1.0, 0.9, math.inf].rate == 4


@pytest.mark.parametrize("name", ["table1", "table2"])
def test_a_plan_like_another_asks_the_same_of_one_engine(name: str) -> None:
    """So that its rows are of the same tasks, in a folder of their own."""
    like, plan = experiments.load(f"{name}-gpu"), experiments.load(name)
    assert like.runs == tuple(run for run in plan.runs if run.engine.name == "auto")
    assert like.published == plan.published and like.rows is like
    assert like.title != plan.title and like.columns != plan.columns and like.quick != plan.quick


def test_a_plan_that_is_none() -> None:
    with pytest.raises(ValueError, match="nothing called 'table9' to reproduce: take headline, "):
        experiments.load("table9")
