"""The page of results and the README's table say what the rows in the repository say."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpcert import experiments
from warpcert.data import ZOO
from warpcert.experiments import Workshop, show, write_section
from warpcert.run import read_results

ROOT = Path(__file__).parents[2]
WORKSHOP = Workshop(ROOT / "docs" / "results")
PAGE = (ROOT / "docs" / "results.md").read_text("utf-8")

COMPUTED = {"introduction", "overview", "comparison"}
"""Views that bend images as they are drawn: these take longer, and have no table of numbers."""

KEPT = [
    plan
    for plan in map(experiments.load, experiments.names())
    if plan.view not in COMPUTED and WORKSHOP.has(plan)
]


def test_there_are_rows() -> None:
    assert {"headline", "table1", "table2"} <= {plan.name for plan in KEPT}


@pytest.mark.parametrize("plan", KEPT, ids=lambda plan: plan.name)
def test_the_page_says_what_rows_say(plan: experiments.Plan) -> None:
    shown = show(plan, WORKSHOP)
    assert write_section(plan, shown, "results/") in PAGE
    for name in shown.figures:
        assert (WORKSHOP.folder / f"{name}.png").is_file()


@pytest.mark.parametrize("name", sorted(ZOO))
def test_rows_are_of_the_network_that_comes_with_the_package(name: str) -> None:
    """A network that is trained anew keeps its name, and none of its rows."""
    paths = sorted(WORKSHOP.folder.glob(f"*/{name}.*.jsonl.gz"))
    tasks = [read_results(path).task for path in paths]
    assert tasks and all(tasks)
    assert {task.network.sha256 for task in tasks if task is not None} == {ZOO[name].sha256}


@pytest.mark.parametrize(
    ("name", "page"), [("headline", "README.md"), ("methods", "docs/which-method.md")]
)
def test_other_pages_say_what_rows_say(name: str, page: str) -> None:
    table = show(experiments.load(name), WORKSHOP).text
    assert table and table in (ROOT / page).read_text("utf-8")
