"""`warpcert reproduce`: what it runs, shows and refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Call, call, files, refusal
from warpcert import experiments
from warpcert.run import read_results

__all__ = ["call", "files", "refusal"]

SMALL = ("reproduce", "spatial", "--network", "mnist-convsmall-spatial", "--engine", "interval")
FEW = (*SMALL, "--images", "2", "--workers", "1")
ROWS = Path("reproduced/spatial/mnist-convsmall-spatial.interval.Tinf.jsonl")


def test_all_are_listed(call: Call) -> None:
    answer = call("reproduce", "--list")
    assert answer.code == 0
    assert [line.split()[0] for line in answer.out.splitlines()[1:]] == experiments.names()


def test_a_table_is_made_shown_and_kept(call: Call, files: Path) -> None:
    answer = call(*FEW, "--delta", "0.5,2", "--gamma", "inf,0.1")
    assert answer.code == 0 and len(read_results(ROWS).rows) == 2 * 2 * 2
    assert "## Networks trained against bending" in answer.out
    assert Path("reproduced/spatial.md").read_text("utf-8").strip() in answer.out
    before = ROWS.read_bytes()
    shown = call("reproduce", "spatial", "--show", "--page", "page.md", "--pack", "packed")
    assert shown.code == 0 and ROWS.read_bytes() == before
    section = Path("reproduced/spatial.md").read_text("utf-8")
    page = Path("page.md").read_text("utf-8")
    assert section.strip() in page and page.startswith("# Results")
    assert "## T∞ certification rates" not in page  # there are no rows of it
    again = call("reproduce", "spatial", "--show", "--out", "packed")
    assert again.out == shown.out


@pytest.mark.parametrize(
    ("words", "line"),
    {
        (): "say what to reproduce ('warpcert reproduce --list' names it), or --quick",
        ("table9",): "there is nothing called 'table9' to reproduce: take headline, ",
        ("table1", "--network", "lenet"): "--network lenet: table1 has cifar10-convmed-ibp, ",
        (
            "table1",
            "--engine",
            "magic",
        ): "--engine magic: table1 has alpha, auto, deeppoly, ",
        ("table1", "--delta", "0.35"): "--delta 0.35: table1 has 0.3, 0.4, 0.5",
        ("table1", "--gamma", "smooth"): "--gamma must be numbers with commas, got 'smooth'",
        ("table1", "--show"): "there are no rows in reproduced: name their folder with --out",
        ("others",): "ERAN's MNIST ConvSmall, DiffAI does not come with the package: put its file",
        ("table1", "--shard", "3/2"): "--shard must be K/N with 1 <= K <= N, got '3/2'",
        ("table1", "--device", "abacus"): "--device abacus is not to be had here: try cpu",
    }.items(),
)
def test_refusals(
    refusal: Callable[..., str], files: Path, words: tuple[str, ...], line: str
) -> None:
    assert refusal("reproduce", *words).startswith(f"warpcert: {line}")
    assert not list(Path().glob("reproduced/*"))


def test_a_folder_that_cannot_be_made(refusal: Callable[..., str], files: Path) -> None:
    Path("reproduced").write_text("a file, not a folder")
    assert "reproduced" in refusal(*FEW)


def test_rows_that_were_changed_by_hand(
    call: Call, refusal: Callable[..., str], files: Path
) -> None:
    assert call(*FEW, "--delta", "0.5", "--gamma", "inf").code == 0
    rows = ROWS.read_text("utf-8")
    ROWS.write_text(rows + rows.splitlines(keepends=True)[0], "utf-8")
    for more in ((), ("--pack", "packed")):
        line = refusal("reproduce", "spatial", "--show", *more)
        assert line.strip() == f"warpcert: {ROWS} holds a verdict twice"
