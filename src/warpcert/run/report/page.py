"""`write_page`: one HTML page with everything in it, to be opened anywhere."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlencode

from warpcert import __version__
from warpcert.run.report.cards import Cards
from warpcert.run.report.columns import Column, write_table
from warpcert.run.report.curves import DECIDED, SHAPES, draw_curves
from warpcert.run.report.findings import Findings
from warpcert.run.report.histogram import draw_times
from warpcert.run.report.originals import Originals
from warpcert.run.report.table import Line, tabulate
from warpcert.run.report.tag import Markup, join, tag
from warpcert.run.report.times import time_methods
from warpcert.run.report.words import write_plainly


def write_page(findings: Findings, data: Path | None = None) -> str:
    """The page; `data` is a folder with whole data sets, to take pictures of images from.

    It fetches nothing, and its policy lets no script run but its own.
    """
    lines = tabulate(findings.rows)
    cards = Cards(findings.rows, findings.folder, Originals(data))
    style, script = _asset("page.css"), _asset("page.js")
    notes = [tag("li", note) for note in (*findings.notes, *cards.notes)]
    return _fill(
        _asset("page.html"),
        policy=_policy(style, script),
        title=join(_title(findings)),
        facts=_facts(findings),
        notes=tag("ul", *notes, class_="notes") if notes else "",
        table=_table(lines),
        legend=_legend(),
        curves=draw_curves(lines),
        times=draw_times(time_methods(findings.rows)),
        version=__version__,
        style=style,
        data=json.dumps(cards.json, allow_nan=False).replace("<", r"\u003c"),
        script=script,
    )


def _asset(name: str) -> str:
    return (files("warpcert.run.report") / "assets" / name).read_text(encoding="utf-8")


def _fill(template: str, **parts: str) -> str:
    """Put each part in its place, once: a part that looks like a place is left as it is."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def _policy(style: str, script: str) -> str:
    """What the browser may load and run: nothing but what is in the page."""
    hashes = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    )
    styles, scripts = (f"'sha256-{value}'" for value in hashes)
    return f"default-src 'none'; img-src data:; style-src {styles}; script-src {scripts}"


def _title(findings: Findings) -> str:
    return findings.about.get("network", findings.path.name)


def _facts(findings: Findings) -> Markup:
    told = findings.told
    told.pop("network", None)  # it is the title
    told["verdicts"] = f"{len(findings.rows)} in {findings.path.name}"
    return join(*(tag("div", tag("dt", key), tag("dd", value)) for key, value in told.items()))


def _legend() -> Markup:
    """The signs of the curves."""
    return join(
        *(
            tag(
                "span",
                tag(
                    "svg",
                    tag("path", d=SHAPES[status].format(x=7.0, y=7.0)),
                    viewBox="0 0 14 14",
                    class_=f"curve {status.value}",
                    aria_hidden="true",
                ),
                status.value,
            )
            for status in DECIDED
        )
    )


def _table(lines: Sequence[Line]) -> Markup:
    columns = write_table(lines)
    heads = (tag("th", c.heading, scope="col", class_=_side(c)) for c in columns)
    rows = (
        tag("tr", *(_cell(column, line, k) for column in columns)) for k, line in enumerate(lines)
    )
    return tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))


def _cell(column: Column, line: Line, k: int) -> Markup:
    """A cell; a count leads to the images that it counts."""
    text = column.cells[k]
    if column.status is None or not getattr(line, column.status.value):
        return tag("td", text, class_=_side(column))
    chosen = {
        "status": column.status.value,
        "norm": write_plainly(line.norm),
        "delta": write_plainly(line.delta),
        "gamma": write_plainly(line.gamma),
        "border": line.border,
    } | ({"task": line.task} if line.task else {})
    return tag("td", tag("a", text, href=f"#{urlencode(chosen)}"), class_=_side(column))


def _side(column: Column) -> str | None:
    return "number" if column.is_number else None
