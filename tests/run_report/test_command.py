"""`warpcert report`."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from tests.run_report.verdicts import mixed, row, write
from warpcert.cli import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "results.jsonl", mixed(tmp_path))
    return Path("results.jsonl")


def names() -> list[str]:
    """What is in the current folder."""
    return sorted(path.name for path in Path().iterdir())


def call(capsys: Capture, *words: str | Path) -> tuple[int, str, str]:
    code = main(["report", *map(str, words)])
    return code, *capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("report.html", b"<!doctype html>"),
        ("report", b"<!doctype html>"),
        ("report.csv", b"task,index,image"),
        ("report.MD", b"| norm | gamma"),
        ("report.png", b"\x89PNG"),
    ],
)
def test_the_files_name_tells_the_format(
    results: Path, capsys: Capture, name: str, start: bytes
) -> None:
    code, out, err = call(capsys, results, "--out", name)
    assert (code, err) == (0, "")
    assert "Tinf, delta 0.5, gamma inf: 7 / 9 / 10 (certified / correct / all)" in out
    assert f"report: {name}" in out
    assert Path(name).read_bytes().startswith(start)
    assert names() == sorted(["fields", "results.jsonl", name])


@pytest.mark.parametrize(("form", "lines"), [("csv", 21), ("md", 10)])
def test_tables_are_printed(results: Path, capsys: Capture, form: str, lines: int) -> None:
    code, out, err = call(capsys, results, "--format", form)
    assert (code, err, len(out.splitlines())) == (0, "", lines)


def test_the_format_can_be_said(results: Path, capsys: Capture) -> None:
    assert call(capsys, results, "--format", "csv", "--out", "rows.txt")[0] == 0
    assert Path("rows.txt").read_text().startswith("task,")


def test_the_picture_can_be_seen(results: Path, capsys: Capture) -> None:
    assert call(capsys, results, "--out", "r.png")[0] == 0
    with Image.open("r.png") as picture:
        assert picture.width == 1650
        colours = {colour for _, colour in picture.convert("RGB").getcolors(1 << 20) or []}
    assert {(0x0B, 0x7A, 0x53), (0xC0, 0x3A, 0x11), (0x8A, 0x61, 0x00)} <= colours


def test_a_torn_line_is_told(results: Path, capsys: Capture) -> None:
    with results.open("a") as stream:
        stream.write('{"task"')
    code, _, err = call(capsys, results, "--format", "md")
    assert (code, err) == (0, "warpcert: The last line, 21, is torn and was passed over.\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("empty.jsonl --out r.html", "empty.jsonl holds no verdicts"),
        ("lost.jsonl --out r.html", "lost.jsonl cannot be read"),
        ("bad.jsonl --out r.html", "bad.jsonl, line 1 is no verdict, delta must be"),
        ("results.jsonl", "needs a file"),
        ("results.jsonl --format png", "needs a file"),
        ("results.jsonl --format png --out r.html", "let --out end in .png"),
        ("results.jsonl --format pdf", "pdf"),
        ("results.jsonl --out no/r.html", "there is no folder no"),
        ("results.jsonl --out fields", "is a folder"),
        ("results.jsonl --format csv --out results.jsonl", "holds the results"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_two(
    results: Path, capsys: Capture, words: str, says: str
) -> None:
    Path("empty.jsonl").write_text("")
    write(Path("bad.jsonl"), [row(delta="wide")])
    before = names()
    code, out, err = call(capsys, *words.split())
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1
    assert names() == before


def test_help_fits_on_a_screen(capsys: Capture) -> None:
    code, out, _ = call(capsys, "--help")
    assert code == 0
    assert len(out.splitlines()) <= 30
    assert max(map(len, out.splitlines())) <= 80
