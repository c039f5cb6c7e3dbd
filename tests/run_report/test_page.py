"""The page as text: whole, escaped, the same every time."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.run_report.verdicts import mixed, row, write
from warpcert.run.report import read_findings, write_page
from warpcert.run.report.curves import BOTTOM, TOP

HOSTILE = "<script>alert('{{style}}')</script>&amp;\"'"


class Reader(HTMLParser):
    """Names of elements, their attributes, and the text of scripts and tables."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append((self.elements[-1][0] if self.elements else "", data))


def page(folder: Path, rows: list[dict[str, Any]]) -> str:
    return write_page(read_findings(write(folder / "r.jsonl", rows)))


def cards(text: str) -> dict[str, Any]:
    (data,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', text)
    return json.loads(data)


def test_it_is_whole(tmp_path: Path) -> None:
    text = page(tmp_path, mixed(tmp_path))
    for tag, attributes in Reader(text).elements:
        assert tag not in {"iframe", "object", "embed", "base"}
        for name in ("src", "href"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:")), (tag, value)
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    assert "{{" not in text
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|innerHTML", text)


def test_it_lets_only_its_own_script_run(tmp_path: Path) -> None:
    text = page(tmp_path, [row()])
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert f"script-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_it_is_the_same_every_time(tmp_path: Path) -> None:
    assert page(tmp_path, mixed(tmp_path)) == page(tmp_path, mixed(tmp_path))


@pytest.mark.parametrize("key", ["image", "method", "reason", "task", "field"])
def test_everything_is_escaped(tmp_path: Path, key: str) -> None:
    (tmp_path / "r.jsonl.task.json").write_text(json.dumps({"network": HOSTILE, "images": HOSTILE}))
    changes = {"status": "falsified", "margin": -1} if key == "field" else {}
    text = page(tmp_path, [row(**{key: HOSTILE}, **changes)])
    tags = [tag for tag, _ in Reader(text).elements]
    assert tags.count("script") == 2
    assert "alert('{{style}}')" not in text.replace(r"\u003cscript>alert('{{style}}')", "")
    assert ("title", f"{HOSTILE}: verdicts") in Reader(text).texts
    (card,) = cards(text)["cards"]
    if key == "field":
        assert HOSTILE in card["note"]
    elif key != "task":
        assert card[key] == HOSTILE


def test_the_table_counts_and_leads_to_the_images(tmp_path: Path) -> None:
    text = page(tmp_path, mixed(tmp_path))
    assert text.count(">7 / 9 / 10<") == 2
    assert text.count('<td class="number">77.8 %</td>') == 2
    wanted = "#status=certified&amp;norm=inf&amp;delta=0.5&amp;gamma=0.1&amp;border=clamp"
    assert f'<a href="{wanted}">7 / 9 / 10</a>' in text


def test_pictures_are_kept_once(tmp_path: Path) -> None:
    found = cards(page(tmp_path, [row(delta=0.1 * k) for k in range(20)]))
    assert len(found["pictures"]) == 1
    assert {card["original"] for card in found["cards"]} == {0}


def test_a_card_says_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPCERT_DATA", str(tmp_path))
    lost = row(status="falsified", margin=-1.0, field="f/lost.npz")
    text = page(tmp_path, [row(image="mnist:5000"), lost])
    far, bent = cards(text)["cards"]
    assert far["note"] == "No picture of the image: the whole MNIST is not on this machine."
    assert far["original"] is None
    assert bent["note"] == "No field to show: f/lost.npz is missing."
    assert (bent["arrows"], bent["warped"]) == (None, None)
    assert bent["original"] is not None
    assert f"<li>{bent['note']} (1 of 2 cards)</li>" in text


def test_notes_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", [row()], '{"im')
    assert "<li>The last line, 2, is torn and was passed over.</li>" in write_page(
        read_findings(path)
    )


def test_curves_and_times(tmp_path: Path) -> None:
    text = page(tmp_path, mixed(tmp_path))
    assert text.count('<g class="curve certified">') == 2
    assert "<title>delta 0.5: 7 of 9 certified (77.8 %)</title>" in text
    assert "2 images, median 20.000 s, mean 20.000 s" in text


def test_the_points_of_the_curves_are_as_high_as_the_shares(tmp_path: Path) -> None:
    text = page(tmp_path, mixed(tmp_path))
    for status, share in (("certified", 7 / 9), ("falsified", 1 / 9), ("unknown", 1 / 9)):
        shown = re.findall(rf'<g class="curve {status}"><polyline points="[^ "]*,([^ "]*)">', text)
        height = TOP + (1 - share) * (BOTTOM - TOP)
        assert [float(y) for y in shown] == [pytest.approx(height, abs=0.06)] * 2


def test_extreme_rows_are_drawn(tmp_path: Path) -> None:
    rows = [row(seconds=0), row(seconds=1e-7, delta=0), row(status="misclassified", delta=1e6)]
    rows += [row(seconds=1e6, delta=3, method=""), row(margin=None, gamma=0, rival=None)]
    assert "NaN" not in page(tmp_path, rows).partition("<script")[0]
    assert "<article" not in page(tmp_path, [row(status="misclassified", method="", seconds=0)])
