"""`draw_times`: the time per image, one panel for each method, on one logarithmic scale."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from warpcert.run.report.scale import Scale
from warpcert.run.report.tag import Markup, join, tag
from warpcert.run.report.times import Times
from warpcert.run.report.words import write_seconds

BINS = 8
"""Bars to a factor of ten."""

WIDTH, HEIGHT = 340, 136
LEFT, RIGHT, TOP, BOTTOM = 44.0, 324.0, 10.0, 92.0


def draw_times(times: Sequence[Times]) -> Markup:
    """Histograms of the seconds, as figures of HTML and SVG."""
    positive = [s for each in times for s in each.seconds if s > 0] or [1.0]
    low = math.floor(math.log10(min(positive)))
    high = max(math.ceil(math.log10(max(positive))), low + 1)
    across = Scale(low, high, LEFT, RIGHT)
    return join(*(_figure(each, across) for each in times))


def _figure(times: Times, across: Scale) -> Markup:
    low, high = int(across.low), int(across.high)
    bins = (high - low) * BINS
    bars = Counter(min(max(_bin(s, low), 0), bins - 1) for s in times.seconds)
    up = Scale(0, max(bars.values()), BOTTOM, TOP)
    count = len(times.seconds)
    facts = (
        f"{count} image{'s' * (count != 1)}, median {write_seconds(times.median)} s, "
        f"mean {write_seconds(times.mean)} s"
    )
    drawing = tag(
        "svg",
        _grid(across, up),
        *(_bar(k, number, across, up) for k, number in sorted(bars.items())),
        _median(times, across),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"Seconds per image, {times.method}: {facts}.",
    )
    caption = tag("figcaption", tag("strong", times.method), ": ", facts)
    return tag("figure", caption, drawing)


def _bin(seconds: float, low: int) -> int:
    return math.floor((math.log10(seconds) - low) * BINS) if seconds > 0 else 0


def _bar(k: int, number: int, across: Scale, up: Scale) -> Markup:
    ends = [across.low + (k + side) / BINS for side in (0, 1)]
    left, right = (across(end) for end in ends)
    shortest, longest = (write_seconds(10**end) for end in ends)
    title = tag("title", f"{shortest} to {longest} s: {number}")
    x, y, width = left + 0.5, up(number), right - left - 1
    return tag("rect", title, x=x, y=y, width=width, height=BOTTOM - y, class_="bar")


def _median(times: Times, across: Scale) -> Markup:
    if times.median <= 0:
        return Markup()
    x = across(math.log10(times.median))
    return tag("line", x1=x, x2=x, y1=TOP - 4, y2=BOTTOM, class_="median")


def _grid(across: Scale, up: Scale) -> Markup:
    parts = [tag("line", x1=LEFT - 8, x2=RIGHT + 8, y1=BOTTOM, y2=BOTTOM, class_="axis")]
    for number in (0, up.high):
        parts.append(tag("text", f"{number:g}", x=LEFT - 12, y=up(number) + 4, class_="end"))
    powers = [float(k) for k in range(int(across.low), int(across.high) + 1)]
    for power in powers:
        x = across(power)
        parts.append(tag("line", x1=x, x2=x, y1=TOP, y2=BOTTOM + 4, class_="grid"))
    for power in across.apart(powers, 34):
        label = f"{10**power:g}"
        parts.append(tag("text", label, x=across(power), y=BOTTOM + 18, class_="middle"))
    middle = (LEFT + RIGHT) / 2
    words = "seconds per image (logarithmic)"
    parts.append(tag("text", words, x=middle, y=BOTTOM + 36, class_="middle quiet"))
    return join(*parts)
