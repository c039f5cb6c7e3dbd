"""The page in a real browser: it draws, filters, sorts, loads nothing and runs nothing foreign."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.run_report import browser
from tests.run_report.verdicts import mixed, row, write
from warpcert.run.report import read_findings, write_page

pytestmark = pytest.mark.skipif(browser.FOUND is None, reason=browser.REASON)

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"


def make(folder: Path, rows: list[dict[str, Any]]) -> Path:
    page = folder / "report.html"
    page.write_text(write_page(read_findings(write(folder / "r.jsonl", rows))), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    return make(folder, mixed(folder))


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("profile")


def said(view: browser.View) -> Any:
    (text,) = re.findall(r'data-said="([^"]*)"', view.dom)
    return json.loads(unescape(text))


def test_everything_is_drawn_without_a_complaint(page: Path, profile: Path) -> None:
    view = browser.look(page, profile)
    assert view.console == []
    assert len(view.cards) == 20
    assert view.found == (
        "Showing 20 of 20: 14 certified / 18 correct / 20 all; 2 falsified, 2 unknown."
    )
    bent, lost = (card for card in view.cards if 'class="falsified' in card)
    assert bent.count("<img ") == 3
    assert bent.count("<path ") == 2
    # From the middle of the first pixel, 0.5 to the right and 1 down, made 1.9 pixels long.
    assert 'd="M0.50 0.50L1.35 2.20' in bent
    assert "1.12 px" in bent
    assert "fields/lost.npz is missing" in lost
    assert lost.count("<img ") == 1


def test_a_complaint_would_be_heard(page: Path, profile: Path) -> None:
    assert len(browser.drive(page, profile, "console.error('here'); missing()").console) == 2


def test_a_link_names_filters(page: Path, profile: Path) -> None:
    view = browser.look(page, profile, "status=falsified&gamma=inf")
    assert view.console == []
    assert view.images == ["mnist:7"]


LINKS = {
    "status=falsified": [7, 7],
    "status=unknown&gamma=inf": [8],
    "gamma=0.1&class=3": [3],
    "method=alpha": [8, 8],
    "q=NO+time&gamma=0.1": [8],
    "status=nonsense&gamma=0.1&class=2": [2],
    "gamma=inf&sort=margin": [8, 9, 7, 0, 1, 2, 3, 4, 5, 6],
    "gamma=inf&sort=-margin": [6, 5, 4, 3, 2, 1, 0, 7, 9, 8],
    "gamma=inf&sort=-seconds": [8, 0, 1, 2, 3, 4, 5, 6, 7, 9],
    "gamma=inf&sort=seconds": [9, 0, 1, 2, 3, 4, 5, 6, 7, 8],
}


def test_every_filter_and_order(page: Path, profile: Path) -> None:
    script = """
        const names = () => [...document.querySelectorAll("h3")].map((h) => h.textContent);
        const shown = {};
        const follow = () => {
          const link = links.shift();
          if (link === undefined) return say(shown);
          const next = () => { shown[link] = names(); follow(); };
          addEventListener("hashchange", next, { once: true });
          location.hash = link;
        };
        follow();
    """
    script = f"const links = {json.dumps(list(LINKS))}; {script}"
    view = browser.drive(page, profile, script)
    assert view.console == []
    shown = {link: [int(name[6]) for name in names] for link, names in said(view).items()}
    assert shown == LINKS


def test_the_controls(page: Path, profile: Path) -> None:
    script = """
        const form = document.getElementById("filters");
        const names = () => [...document.querySelectorAll("h3")].map((h) => h.textContent);
        const set = (name, value) => {
          form.elements[name].value = value;
          form.elements[name].dispatchEvent(new Event("input", { bubbles: true }));
          return names();
        };
        const steps = [set("status", "falsified"), set("gamma", "inf"), set("q", "nothing")];
        const address = decodeURIComponent(location.hash);
        form.querySelector("button[type=reset]").click();
        setTimeout(() => {
          const all = names().length;
          document.querySelector("tbody tr:last-child a").click();
          setTimeout(() => say([steps, address, all, names(), document.activeElement.id]), 50);
        }, 50);
    """
    steps, address, everything, linked, focus = said(browser.drive(page, profile, script))
    assert steps == [["mnist:7 (7)", "mnist:7 (7)"], ["mnist:7 (7)"], []]
    assert address == "#status=falsified&gamma=inf&q=nothing"
    assert everything == 20
    assert linked == [f"mnist:{k} ({k})" for k in range(7)]  # certified, gamma 0.1
    assert focus == "gallery"


def test_names_are_text(tmp_path: Path, profile: Path) -> None:
    hostile = [row(image=HOSTILE, reason=HOSTILE, method=HOSTILE, task=HOSTILE), row(image="<b>")]
    (tmp_path / "r.jsonl.task.json").write_text(json.dumps({"network": HOSTILE}))
    view = browser.look(make(tmp_path, hostile), profile)
    assert view.console == []
    assert "<title>owned" not in view.dom
    assert len(view.cards) == 2
    assert view.dom.count("<script") == 2
    assert "<img src=" not in view.dom


def test_the_policy_stops_what_slips_in(page: Path, profile: Path) -> None:
    slipped = page.with_name("slipped.html")
    text = page.read_text(encoding="utf-8")
    script = "<script>document.title = 'owned'</script>"
    slipped.write_text(text.replace("<main>", f"<main>{script}"), encoding="utf-8")
    view = browser.look(slipped, profile)
    assert "<title>owned" not in view.dom
    assert view.console


def test_two_thousand_cards_come_as_they_are_needed(tmp_path: Path, profile: Path) -> None:
    rows = [row(index=k, image=f"mnist:{k % 100}", delta=0.1 * (1 + k // 100)) for k in range(2000)]
    page = make(tmp_path, rows)
    assert page.stat().st_size < 2_000_000
    script = """
        const more = document.getElementById("more");
        const count = () => document.querySelectorAll("article").length;
        const before = count();
        more.click();
        say([before, count(), more.hidden]);
    """
    view = browser.drive(page, profile, script)
    assert view.console == []
    assert "Showing 2000 of 2000" in view.found
    assert len(view.cards) <= 200
    assert said(view) == [48, 96, False]


def test_nothing_sticks_out(page: Path, profile: Path) -> None:
    # The window cannot be narrower than 500 dots: the page can.
    script = """
        const out = (width) => {
          document.body.style.width = `${width}px`;
          const edge = document.body.getBoundingClientRect().right;
          const all = [...document.querySelectorAll("article, article *, figure, form, p, svg")];
          return all.filter((e) => e.getBoundingClientRect().right > edge + 1);
        };
        say([340, 500, 1200].flatMap(out).map((element) => element.outerHTML));
    """
    assert said(browser.drive(page, profile, script)) == []
