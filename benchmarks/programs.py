"""Time programs: ``python -m benchmarks.programs [--only milp krelu ladder] [--out FILE]``.

Prints three tables, each with ours beside a baseline in one run, ratios first. "milp": verdicts and
seconds by programs with integers, with hulls and with the paper's planes at the input, beside
branch and bound (``complete``); with ``--integers`` also by integers alone, which are asked for all
margins. "krelu": how many images are certified by DeepPoly as published, by linear programs and by
those with groups of ReLUs, for free and for smooth fields, beside the paper's numbers. "ladder":
what each engine adds to the worst margin, with the same intervals of neurons. Every result is a
JSON line in FILE as soon as it is there, and the same command continues.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

import warpcert as wc
from warpcert.bound import IntervalPropagation, margin_rows
from warpcert.bound.backward import over_intervals
from warpcert.bound.layers import bound_layers
from warpcert.bound.substitution import Substitution
from warpcert.core import rounding
from warpcert.core.inputset import InputSet
from warpcert.solve import Mixed, Polyhedral
from warpcert.verify.krelu import KRelu
from warpcert.verify.programs import LinearProgram, Setting
from warpcert.verify.relax import Relaxation, relax

PAPER = {math.inf: "24 %", 0.1: "51 %"}
"""k-ReLU with k = 15 on the paper's own MNIST ConvSmall (PGD), delta 0.4: 176 s and 285 s."""

Row = dict[str, Any]


class Book:
    """Rows by key, kept in a file."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.rows = path, {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                self.rows[row["key"]] = row

    def get(self, key: str, work: Callable[[], Row]) -> Row:
        """A row that is there already, or the work's, which is then kept."""
        if key not in self.rows:
            row = {"key": key, **work()}
            self.rows[key] = row
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
        return self.rows[key]


class Run:
    """A network, images and the options."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.book = options, Book(options.out)
        data = "cifar10" if "cifar10" in options.network else "mnist"
        self.network = wc.load_network(options.network, mean=options.mean, std=options.std)
        self.images, self.labels = wc.load_images(f"{data}:0-{options.images - 1}")

    @property
    def correct(self) -> Iterator[int]:
        """The numbers of the images that the network knows."""
        right = self.network(self.images.double()).argmax(1) == self.labels
        return iter(right.nonzero().flatten().tolist())

    def integers(self, k: int, delta: float, gamma: float, relaxation: Relaxation) -> Row:
        """All margins by integers alone, with nothing but intervals before them."""
        key = f"{self.options.network} {k} {delta} {gamma} integers {relaxation}"

        def work() -> Row:
            start = time.perf_counter()
            network, mixed = self.network.to(dtype=torch.float64), Mixed()
            image, label = self.images[k : k + 1].double(), self.labels[k : k + 1]
            rows = margin_rows(label, network.classes)
            inputs = relax(image, wc.Threat("inf", delta, gamma), relaxation)
            bounds = IntervalPropagation()(network, inputs, rows)
            setting = Setting.of(network, inputs, bounds)
            assert setting is not None
            relaxed = LinearProgram().solve(setting, rows[0])
            exact = setting.encoding(exact=True, widen=rounding.WIDENED)
            reason, margin = mixed.check(exact, [image[0]]), math.inf
            for row, solution in zip(rows[0].numpy(), relaxed, strict=True):
                left = self.options.timeout - (time.perf_counter() - start)
                if reason or not margin > 0:
                    break
                answer = mixed(exact, exact.cost(len(network), row), solution, time_limit=left)
                margin, reason = min(margin, answer.bound), answer.end
            return {
                "status": "certified" if margin > 0 and not reason else "unknown",
                "method": f"{sum(int((x >= 0).sum()) for x in exact.binaries.values())} binaries",
                "margin": margin,
                "reason": reason,
                "seconds": time.perf_counter() - start,
            }

        return self.book.get(f"{key} {self.options.timeout}", work)

    def verdict(
        self, k: int, delta: float, gamma: float, method: str, relaxation: Any, **more: Any
    ) -> Row:
        """One verdict, and how long it took."""
        key = f"{self.options.network} {k} {delta} {gamma} {method} {relaxation} {more}"

        def work() -> Row:
            start = time.perf_counter()
            threat = wc.Threat("inf", delta, gamma)
            found = wc.certify(
                self.network,
                self.images[k],
                int(self.labels[k]),
                threat,
                method,
                relaxation=relaxation,
                timeout=self.options.timeout,
                **more,
            )
            assert isinstance(found, wc.Verdict)
            return {
                "status": found.status.value,
                "method": found.method,
                "margin": found.margin,
                "reason": found.reason,
                "seconds": time.perf_counter() - start,
            }

        return self.book.get(f"{key} {self.options.timeout}", work)


def show(*cells: object) -> None:
    """Print one row of a table as soon as it is known."""
    widths = (8, 26, 10, 10, 10, 10, 12)
    line = (str(cell).rjust(width) for cell, width in zip(cells, widths, strict=False))
    print(*line, flush=True)


def summary(rows: list[Row]) -> tuple[int, int, int, float]:
    """Certified, falsified, unknown, and the mean of the seconds."""
    counts = Counter(row["status"] for row in rows)
    mean = sum(row["seconds"] for row in rows) / max(1, len(rows))
    return counts["certified"], counts["falsified"], counts["unknown"], mean


def milp(run: Run) -> None:
    """Programs with integers, beside branch and bound."""
    delta, gamma = run.options.delta, run.options.gamma
    print(f"\nmilp: {run.options.network}, Tinf, delta {delta:g}, gamma {gamma:g}, "
          f"{run.options.timeout:g} s for an image")  # fmt: skip
    ways: tuple[tuple[str, Relaxation], ...] = (
        ("milp", "planes"),
        ("milp", "hull"),
        ("complete", "hull"),
        *((("integers", "planes"), ("integers", "hull")) if run.options.integers else ()),
    )
    found: dict[str, list[Row]] = defaultdict(list)
    for k in run.correct:
        line = []
        for method, relaxation in ways:
            if method == "integers":
                row = run.integers(k, delta, gamma, relaxation)
            else:
                row = run.verdict(k, delta, gamma, method, relaxation)
            found[f"{method}, {relaxation}"].append(row)
            word = row["status"] + ("*" if row["reason"] and row["status"] == "certified" else "")
            line.append(f"{method} {relaxation}: {word} by {row['method']} {row['seconds']:.1f} s")
        print(f"image {k}: " + "; ".join(line), flush=True)
    show("ratio", "method", "certified", "falsified", "unknown", "s/image")
    base = summary(found["milp, planes"])[3]
    for name, rows in found.items():
        certified, falsified, unknown, mean = summary(rows)
        show(f"{base / mean:.2f}", name, certified, falsified, unknown, f"{mean:.2f}")
    print("* on the solver's word; ratio: how many times faster than the paper's formulation")


def krelu(run: Run) -> None:
    """Groups of ReLUs, for free and for smooth fields."""
    delta = run.options.group_delta
    print(f"\nkrelu: {run.options.network}, Tinf, delta {delta:g}, "
          f"{run.options.timeout:g} s for an image")  # fmt: skip
    ways: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("deeppoly", "planes", {"intersect": False}),
        ("deeppoly", "hull", {}),
        ("alpha", "hull", {}),
        ("lp", "hull", {}),
        ("krelu", "hull", {}),
    )
    for gamma in dict.fromkeys((math.inf, run.options.gamma)):
        slow = gamma < math.inf and not run.options.published
        found: dict[str, list[Row]] = defaultdict(list)
        for k in run.correct:
            for method, relaxation, more in ways[1:] if slow else ways:
                row = run.verdict(k, delta, gamma, method, relaxation, **more)
                found[method + (" as published" if more else "")].append(row)
        show("gain", "method", "gamma", "certified", "of", "s/image", "paper")
        base = None
        for name, rows in found.items():
            certified, _, _, mean = summary(rows)
            base = certified if base is None else base
            paper = PAPER.get(gamma, "-") if name == "krelu" else "-"
            show(f"{certified - base:+d}", name, f"{gamma:g}", certified, len(rows), f"{mean:.2f}",
                 paper)  # fmt: skip


def ladder(run: Run) -> None:
    """The worst margin by every engine, with DeepPoly's intervals of neurons for all."""
    delta = run.options.group_delta
    print(f"\nladder: {run.options.network}, Tinf, delta {delta:g}: mean of the worst margin over "
          f"{run.options.few} images, same intervals of neurons")  # fmt: skip
    show("gain", "engine", "gamma", "margin", "s/margin")
    for gamma in (math.inf, run.options.gamma):
        total: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for k in list(run.correct)[: run.options.few]:
            key = f"ladder {run.options.network} {k} {delta} {gamma}"
            row = run.book.get(key, partial(rungs, run, k, delta, gamma))
            for name, pair in row["rungs"].items():
                total[name].append(pair)
        base = None
        for name, pairs in total.items():
            margin, spent = (sum(x) / len(pairs) for x in zip(*pairs, strict=True))
            base = margin if base is None else base
            show(f"{margin - base:+.3f}", name, f"{gamma:g}", f"{margin:.3f}", f"{spent:.2f}")


def rungs(run: Run, k: int, delta: float, gamma: float) -> Row:
    """One image's worst margin by every engine, and the seconds."""
    image, label = run.images[k : k + 1].double(), run.labels[k : k + 1]
    threat, network = wc.Threat("inf", delta, gamma), run.network.to(dtype=torch.float64)
    rows = margin_rows(label, network.classes)
    free = wc.Box(wc.pixel_bounds(image, wc.Threat("inf", delta)))
    bounds = wc.bounds(network, image, wc.Threat("inf", delta), label, "deeppoly")
    known = bound_layers(network, free, (), bounds.layers)
    worst = int(bounds.margins[0].argmin())
    row, value = rows[:, worst : worst + 1], len(network)
    found: dict[str, tuple[float, float]] = {}

    def note(name: str, work: Callable[[], float]) -> None:
        start = time.perf_counter()
        found[name] = (work(), time.perf_counter() - start)

    def back(inputs: InputSet) -> float:
        return float(Substitution()(known, inputs, row, value).bound)

    def program(method: LinearProgram, setting: Setting) -> float:
        return method.solve(setting, row[0])[0].bound

    note("interval", lambda: float(over_intervals(known, row, value)))
    relaxations: tuple[Relaxation, ...] = ("planes", "hull") if gamma < math.inf else ("hull",)
    for relaxation in relaxations:
        inputs = relax(image, threat, relaxation)
        asked = inputs if isinstance(inputs, Polyhedral) else Polyhedral(inputs)
        note(f"deeppoly, {relaxation}", partial(back, asked))
        setting = Setting.of(network, inputs, bounds)
        assert setting is not None
        for name, method in (
            ("lp", LinearProgram()),
            ("krelu, k = 2", KRelu(k=2)),
            ("krelu, k = 3", KRelu(k=3)),
        ):
            note(f"{name}, {relaxation}", partial(program, method, setting))
    return {"rungs": found}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--network", default="mnist-convsmall-ibp", help="a name, or a file")
    parser.add_argument("--mean", type=lambda s: tuple(map(float, s.split(","))))
    parser.add_argument("--std", type=lambda s: tuple(map(float, s.split(","))))
    parser.add_argument("--images", type=int, default=20, help="the first so many")
    parser.add_argument("--few", type=int, default=3, help="of them, for the ladder")
    parser.add_argument("--delta", type=float, default=0.3, help="of the table milp")
    parser.add_argument("--group-delta", type=float, default=0.4, help="of the other tables")
    parser.add_argument("--gamma", type=float, default=0.1)
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for an image")
    parser.add_argument("--integers", action="store_true", help="also without cheap steps before")
    parser.add_argument("--published", action="store_true", help="DeepPoly by one program a neuron")
    parser.add_argument("--out", type=Path, help="JSON lines; the same command continues")
    parser.add_argument("--only", nargs="*", choices=list(TABLES), default=list(TABLES))
    options = parser.parse_args()
    print(f"{torch.get_num_threads()} threads")
    run = Run(options)
    for name in options.only:
        TABLES[name](run)


TABLES: dict[str, Callable[[Run], None]] = {"milp": milp, "krelu": krelu, "ladder": ladder}


if __name__ == "__main__":
    main()
