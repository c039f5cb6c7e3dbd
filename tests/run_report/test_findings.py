"""A whole results file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.run_report.verdicts import row, write
from warpcert.run.report import read_findings

ROWS = [row(index=k, image=f"mnist:{k}") for k in range(3)]


def test_all_rows_in_order(tmp_path: Path) -> None:
    found = read_findings(write(tmp_path / "r.jsonl", ROWS, "\n"))
    assert [each.image for each in found.rows] == ["mnist:0", "mnist:1", "mnist:2"]
    assert (dict(found.about), found.notes, found.folder) == ({}, (), tmp_path)


@pytest.mark.parametrize("end", ['{"task": "01', '{"task": "01\n', "{"])
def test_a_torn_last_line_is_passed_over_and_noted(tmp_path: Path, end: str) -> None:
    found = read_findings(write(tmp_path / "r.jsonl", ROWS, end))
    assert len(found.rows) == 3
    assert found.notes == ("The last line, 4, is torn and was passed over.",)


def test_a_last_line_that_lacks_only_its_end_counts(tmp_path: Path) -> None:
    found = read_findings(write(tmp_path / "r.jsonl", ROWS, json.dumps(row(image="mnist:3"))))
    assert (len(found.rows), found.notes) == (4, ())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "holds no verdicts"),
        ("\n\n", "holds no verdicts"),
        ("{torn", "line 1 is no verdict, it is not JSON"),
        ("{torn\n" + json.dumps(row()) + "\n", "line 1 is no verdict"),
        (json.dumps(row()) + "\n{}\n", "line 2 is no verdict, it has no 'image'"),
        (b"\xff\xfe", "not text in UTF-8"),
    ],
)
def test_what_is_no_results_file_is_refused(
    tmp_path: Path, content: str | bytes, says: str
) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ValueError, match=says):
        read_findings(path)


def test_no_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(ValueError, match="cannot be read"):
            read_findings(path)


def test_the_later_verdict_of_one_task_stands(tmp_path: Path) -> None:
    again = row(index=1, image="mnist:1", margin=7.5)
    found = read_findings(write(tmp_path / "r.jsonl", [*ROWS, again]))
    assert [each.margin for each in found.rows] == [1.25, 7.5, 1.25]
    assert found.notes == ("Lines that a later line replaces: 1. The later ones stand.",)


@pytest.mark.parametrize("network", ["net.onnx", {"name": "net.onnx", "sha256": "0"}])
def test_the_task_is_told_where_it_is_known(tmp_path: Path, network: object) -> None:
    path = write(tmp_path / "r.jsonl", ROWS)
    task = {"network": network, "images": "mnist:0-2", "timeout": 60.0, "deltas": [0.5]}
    (tmp_path / "r.jsonl.task.json").write_text(json.dumps(task))
    about = dict(read_findings(path).about)
    assert about == {"network": "net.onnx", "images": "mnist:0-2", "timeout": "60.0"}


@pytest.mark.parametrize("content", ["{torn", "[]", "7"])
def test_a_broken_task_is_no_task(tmp_path: Path, content: str) -> None:
    path = write(tmp_path / "r.jsonl", ROWS)
    (tmp_path / "r.jsonl.task.json").write_text(content)
    assert dict(read_findings(path).about) == {}
