"""A plan's verdicts are made once, grow with the selection, and are counted rightly."""

from __future__ import annotations

import hashlib
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from warpcert import experiments
from warpcert.core.verdict import Status
from warpcert.data import ZOO
from warpcert.experiments import Plan, Selection, Workshop
from warpcert.experiments.cells import Cell, count
from warpcert.experiments.measure import GeometryTimes, Measurement
from warpcert.experiments.measured import FILE, measure, read_measured
from warpcert.experiments.plan import Aim, Published
from warpcert.experiments.run import Subject
from warpcert.experiments.tables import Line, Table, tabulate, write_aim
from warpcert.run import Row, Shard


@pytest.fixture
def plan() -> Plan:
    """Intervals on the smallest network: verdicts in milliseconds."""
    whole = experiments.load("spatial")
    runs = tuple(
        run
        for run in whole.runs
        if run.engine.name == "interval" and run.network == "mnist-convsmall-spatial"
    )
    return replace(whole, runs=runs, columns=("rate interval", "each interval"))


def keys(rows: list[Row]) -> list[tuple[float, float, int]]:
    return [row.key for row in rows]


def test_a_larger_selection_goes_on_from_a_smaller_one(plan: Plan, tmp_path: Path) -> None:
    workshop, (run,) = Workshop(tmp_path), plan.runs
    workshop.run(plan, Selection(images=2, deltas=(0.5,), gammas=(math.inf,)))
    few = workshop.rows(plan, run)
    assert keys(few) == [(0.5, math.inf, 0), (0.5, math.inf, 1)]
    workshop.run(plan, Selection(images=3, deltas=(0.5, 2.0), gammas=(math.inf,)))
    more = workshop.rows(plan, run)
    assert keys(more) == [(delta, math.inf, k) for delta in (0.5, 2.0) for k in range(3)]
    assert [row for row in more if row.key in keys(few)] == few  # not a digit has changed


def test_shares_and_packed_rows_are_read_as_one(plan: Plan, tmp_path: Path) -> None:
    chosen = Selection(images=3, deltas=(0.5,))
    whole, shared, packed = (Workshop(tmp_path / name) for name in ("whole", "shared", "packed"))
    whole.run(plan, chosen)
    for number in (2, 1):
        shared.run(plan, replace(chosen, shard=Shard(number, 2)))
    (run,) = plan.runs
    assert len(list(shared.place(plan).glob("*-of-2.jsonl"))) == 2
    assert keys(shared.rows(plan, run)) == keys(whole.rows(plan, run))
    assert experiments.pack(plan, shared, packed) == 9
    assert [path.suffix for path in packed.place(plan).iterdir()].count(".gz") == 1
    assert packed.rows(plan, run) == shared.rows(plan, run)
    bytes_before = {path: path.read_bytes() for path in packed.place(plan).iterdir()}
    experiments.pack(plan, packed, packed)
    assert {path: path.read_bytes() for path in packed.place(plan).iterdir()} == bytes_before


def test_cells_count_what_rows_say(plan: Plan, tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    workshop.run(plan, Selection(images=20, deltas=(0.5,), gammas=(math.inf,)))
    rows = workshop.rows(plan, plan.runs[0])
    (cell,) = count(rows).values()
    by_status = {status: [row for row in rows if row.status is status] for status in Status}
    assert cell.certified == len(by_status[Status.CERTIFIED]) > 0
    assert cell.undecided == len(by_status[Status.UNKNOWN]) > 0
    assert cell.correct + cell.misclassified == 20
    assert cell.rate == pytest.approx(100 * cell.certified / cell.correct)
    assert cell.devices == {"cpu"}
    (table,) = tabulate(plan, workshop)
    lines = [line for line in table.lines if (line.delta, line.gamma) == (0.5, math.inf)]
    assert [line.cell("interval") for line in lines] == [cell]
    text = experiments.show(plan, workshop).text
    assert f"| 0.5 | ∞ | {cell.rate:.0f} ({cell.correct}) | {cell.each:.3g} |" in text


AIM = Aim("auto", "milp", 20, 0.1)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (Cell(8, 2, 0, 0, 0.4), "In all 1 cells"),
        (Cell(7, 2, 1, 0, 0.4), "70 % of 10, published 80 %; 1 undecided"),
        (Cell(7, 3, 0, 0, 0.4), "fooled on 3 of them, so that none could certify more than 70 %"),
        (Cell(8, 2, 0, 0, 0.6), "0.6 s an image, aim 0.5 s"),
    ],
)
def test_cells_that_fall_short_are_named(cell: Cell, words: str) -> None:
    line = Line(math.inf, 0.5, 0.1, {"auto": cell}, {"milp": Published(80, 10)})
    assert words in write_aim(AIM, [Table("net", "Net", "", [line])])


class Squares(Measurement):
    """Something that is measured at once."""

    @classmethod
    def quick(cls) -> Measurement:
        return cls()

    def cases(self) -> list[dict[str, Any]]:
        return [{"measure": "squares", "of": k} for k in range(4)]

    def __call__(self, case: dict[str, Any], device: str) -> dict[str, Any]:
        return {"square": case["of"] ** 2}


def test_measurements_are_made_once(tmp_path: Path) -> None:
    told: list[str] = []
    measure(Squares(), tmp_path, "cpu", told.append)
    rows = list(read_measured(tmp_path))
    assert [row["square"] for row in rows] == [0, 1, 4, 9] and told[-1] == "4/4 measured"
    assert all(row["device"] == "cpu" for row in rows)
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes()[:-5])  # the power went out
    measure(Squares(), tmp_path, "cpu", told.append)
    assert told[4:] == ["1/1 measured"] and list(read_measured(tmp_path)) == rows


def test_times_stand_beside_the_published_ones(tmp_path: Path) -> None:
    plan, workshop = experiments.load("geometry"), Workshop(tmp_path)
    times = GeometryTimes(norms=(), plane_norms=(math.inf,), side=40, runs=1)
    measure(times, workshop.place(plan), "cpu", lambda _: None)
    taken = next(read_measured(workshop.place(plan)))["seconds"]
    text = experiments.show(plan, workshop).text
    assert f"| MNIST | cpu | {taken:.3g} | 1.63 | {1.63 / taken:.0f} |" in text


def test_networks_of_others_are_known_by_their_contents(tmp_path: Path) -> None:
    path = tmp_path / "theirs.onnx"
    shutil.copy(ZOO["mnist-convsmall-spatial"].path, path)
    theirs = Subject("theirs", "", "Theirs", hashlib.sha256(path.read_bytes()).hexdigest())
    assert theirs.locate(tmp_path) == str(path)
    with pytest.raises(ValueError, match="Theirs does not come with the package"):
        theirs.locate(None)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ValueError, match="name that with --networks DIR"):
        theirs.locate(tmp_path)


def test_where_there_are_no_rows_nothing_is_claimed() -> None:
    line = Line(math.inf, 0.5, 0.1, {"auto": Cell()}, {"milp": Published(80, 10)})
    assert write_aim(AIM, [Table("net", "Net", "", [line])]) == ""
