"""Tables and pictures are made of what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.tradeoff import main as draw
from warpcert.data import ZOO
from warpcert.train.table import BEGIN, END, write_table, zoo_table
from warpcert.train.zoo import main

PAGE = Path(__file__).parents[2] / "docs" / "training.md"


def test_the_page_has_the_tables_of_the_zoo():
    """If not: python -m warpcert.train.zoo table docs/training.md."""
    text = PAGE.read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0] == f"\n{zoo_table(ZOO)}\n"
    for specimen in ZOO.values():
        assert f"| {specimen.test} |" in text and f"`{specimen.command}`" in text


def test_writing_them(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text(f"a\n{BEGIN}\nold\n{END}\nz\n")
    assert main(["table", str(page)]) == 0
    assert page.read_text() == f"a\n{BEGIN}\n{zoo_table(ZOO)}\n{END}\nz\n"
    write_table(page, {})
    assert page.read_text().startswith(f"a\n{BEGIN}\n| network |")
    page.write_text("nothing")
    with pytest.raises(SystemExit):
        main(["table", str(page)])
    assert "has no lines" in capsys.readouterr().err and page.read_text() == "nothing"


def row(name, correct, certified):
    counts = {"certified": certified, "correct": correct, "all": 100}
    known = {"dataset": "mnist", "architecture": "ConvSmall", "training": "ibp", "test": counts}
    deltas = {"0.3": counts, "0.5": counts, "0.7": counts, "0.9": counts}
    return {"name": name, "state": "finished", "test_by_delta": deltas, **known}


def test_the_trade_off_shows_settings_that_failed(tmp_path, capsys):
    rows = [row("good", 90, 80), row("lost", 11, 11), {"name": "bad", "state": "failed: why"}]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert draw([str(path), str(tmp_path / "p.png")]) == 0
    assert capsys.readouterr().out == "bad: failed: why\n"
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    path.write_text(json.dumps(rows[2]) + "\n")
    for words in (["x"], [str(path), str(tmp_path / "q.png")], [str(path), "p.gif"]):
        assert draw(words) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "q.png").exists()
