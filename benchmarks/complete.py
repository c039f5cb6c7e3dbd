"""Decide images by branching: ``python -m benchmarks.complete {rates,ablation,peer,survive} ...``.

rates     certified, falsified and undecided images for every delta and gamma, with the mean time
          over the decided ones, beside the paper's figures for a network of the same kind
ablation  the same with one part of the method left out at a time
peer      gamma = inf with the time limit of the strongest other verifier's run, beside its counts
survive   attack every certified image of a file of rows, or of a results file (--results), with
          ten times the usual effort

A network is a name of the zoo, an .onnx file (--mean, --std), or ARCHITECTURE:FILE.npz as training
writes it. Each image is decided by itself. Verdicts go to --out as JSON lines as they come, and the
same command continues where it stopped; tables are printed from the file. Images that the network
gets wrong are skipped.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import warpcert as wc
from warpcert.attacks import STRONGEST, Attack, Cascade, Linearised, Search, ThroughBox
from warpcert.attacks.descent import Descent
from warpcert.bound import Beta, Choice
from warpcert.experiments import load
from warpcert.experiments.plan import Published
from warpcert.run import read_results
from warpcert.train.architecture import build
from warpcert.train.weights import load_weights
from warpcert.verify.branch import Effort
from warpcert.verify.cascade import Cascade as Steps
from warpcert.verify.complete import Complete
from warpcert.verify.docket import Docket
from warpcert.verify.methods import steps

SHAPES = {"mnist": (1, 28, 28), "cifar10": (3, 32, 32), "fashion": (1, 28, 28)}

VARIANTS: dict[str, Effort] = {
    "all": Effort(),
    "no field branching": Effort(fields=False),
    "no ReLU branching": Effort(relus=False),
    "no tried cuts": Effort(trials=False),
    "no duals": Effort(duals=False),
    "no intersection": Effort(intersect=False),
    "no warm start": Effort(warm=False),
    "no free pixels": Effort(free=False),
    "no inner branching": Effort(splits=0),
    "no experience": Effort(choice=Choice(remembered=0)),
    "no patient first nodes": Effort(
        first=Beta(iterations=10, rate=0.2, decay=0.95), first_duals=(4, 20)
    ),
    "no patient neurons": Effort(inner_duals=(4, 20), passes=2),
    "no patience": Effort(node_duals=(4, 20), longer=()),
}

PEER = {0.3: (42, 42, 33, 2.5), 0.4: (38, 41, 19, 8.9), 0.5: (37, 41, 7, 11.2)}
"""alpha-beta-CROWN on boxes of the DiffAI ConvSmall of ERAN's collection, one CPU thread, 60 s, as
run by us: decided, asked, certified, mean seconds over all."""


def network(options: argparse.Namespace) -> wc.Network:
    """The network that the options name, on their device."""
    if ":" in options.net and options.net.endswith(".npz"):
        name, path = options.net.split(":", 1)
        module = build(name, SHAPES[options.data])
        load_weights(module, Path(path))
        return wc.Network.from_module(module.eval(), SHAPES[options.data]).to(options.device)
    numbers = {key: getattr(options, key) for key in ("mean", "std") if getattr(options, key)}
    return wc.load_network(options.net, **numbers).to(options.device)


def decide(
    net: wc.Network, image: Tensor, label: Tensor, threat: wc.Threat, effort: Effort, limit: float
) -> wc.Verdict:
    """One image's verdict by the method "complete" with a given effort."""
    before = [step for step in steps("complete") if not isinstance(step, Complete)]
    with torch.inference_mode(False), torch.no_grad():
        docket = Docket(net.to(dtype=torch.float64), image[None], label[None], threat)
        Steps([*before, Complete(effort=effort)], limit)(docket)
    return docket.verdicts()[0]


class Rows:
    """JSON lines in a file, by their key; without a file, kept in memory."""

    def __init__(self, path: str | None) -> None:
        self.path = None if path is None else Path(path)
        self.rows: dict[str, dict[str, Any]] = {}
        if self.path is not None and self.path.exists():
            for line in self.path.read_text().splitlines():
                row = json.loads(line)
                self.rows[row["key"]] = row

    def add(self, row: dict[str, Any]) -> None:
        """Keep a row."""
        self.rows[row["key"]] = row
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")


def number(value: float) -> float | str:
    """A number as JSON has it."""
    return value if math.isfinite(value) else str(value)


def run(options: argparse.Namespace, rows: Rows, variant: str, delta: float, gamma: float) -> None:
    """Decide what the file does not hold of one cell of a table."""
    images, labels = wc.load_images(
        f"{options.data}:{options.first}-{options.first + options.count - 1}", root=options.root
    )
    net = network(options)
    images, labels = images.to(options.device), labels.to(options.device)
    threat = wc.Threat(options.norm, delta, gamma)
    right = (net(images.double()).argmax(1) == labels).nonzero().squeeze(1).tolist()
    for k in right[: options.correct]:
        key = "|".join(
            map(str, (options.net, options.norm, delta, gamma, options.first + k, variant,
                      options.timeout, options.device))
        )  # fmt: skip
        if key in rows.rows:
            continue
        start, busy = time.perf_counter(), time.process_time()
        found = decide(net, images[k], labels[k], threat, VARIANTS[variant], options.timeout)
        if options.device != "cpu":
            torch.cuda.synchronize()
        rows.add(
            {
                "key": key, "net": options.net, "norm": number(float(threat.norm)),
                "delta": delta, "gamma": number(gamma), "image": options.first + k,
                "variant": variant, "timeout": options.timeout, "device": options.device,
                "status": found.status.value, "method": found.method,
                "seconds": round(time.perf_counter() - start, 4),
                "cpu_seconds": round(time.process_time() - busy, 4),
                "margin": number(found.margin), "reached": number(found.reached),
                "reason": found.reason, "spent": {k: round(v, 3) for k, v in found.spent.items()},
            }
        )  # fmt: skip


def chosen(options: argparse.Namespace, rows: Rows, **wanted: object) -> list[dict[str, Any]]:
    """The rows of one cell of a table, for the images asked for."""
    asked = {"net": options.net, "norm": number(float(wc.Threat(options.norm).norm)),
             "timeout": options.timeout, "device": options.device, **wanted}  # fmt: skip
    last = options.first + options.count
    return [
        row
        for row in rows.rows.values()
        if all(row[key] == value for key, value in asked.items())
        and options.first <= row["image"] < last
    ]


def summary(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Counts and mean times of some rows."""
    count = {word: sum(row["status"] == word for row in rows) for word in
             ("certified", "falsified", "unknown")}  # fmt: skip
    decided = [row["seconds"] for row in rows if row["status"] != "unknown"]
    return {
        **count,
        "n": len(rows),
        "rate": 100 * count["certified"] / max(1, len(rows)),
        "mean": sum(decided) / max(1, len(decided)),
        "all": sum(row["seconds"] for row in rows) / max(1, len(rows)),
        "most": max(decided, default=math.nan),
    }


def show(cells: list[object], widths: tuple[int, ...]) -> None:
    """Print one row of a table."""
    words = [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in cells]
    print(*(word.rjust(width) for word, width in zip(words, widths, strict=True)), flush=True)


def published(name: str, norm: float, delta: float, gamma: float) -> Published:
    """What the paper's MILP has reached on its network of the same kind."""
    key = name, "milp", norm, delta, gamma
    known = {**load("table1").published, **load("table2").published}
    return known.get(key, Published())


def rates(options: argparse.Namespace, rows: Rows) -> None:
    """The table of rates."""
    print(f"{options.net}, T{options.norm}, {options.device}, limit {options.timeout:g} s")
    widths = (6, 6, 4, 9, 10, 10, 10, 10, 9, 8, 8)
    show(["delta", "gamma", "n", "certified", "% correct", "falsified", "undecided", "s decided",
          "worst s", "paper %", "paper s"], widths)  # fmt: skip
    for delta in options.delta:
        for gamma in options.gamma:
            run(options, rows, "all", delta, gamma)
            found = summary(chosen(options, rows, variant="all", delta=delta, gamma=number(gamma)))
            norm = float(wc.Threat(options.norm).norm)
            paper = published(options.net, norm, delta, gamma)
            show(
                [delta, gamma, int(found["n"]), int(found["certified"]), found["rate"],
                 int(found["falsified"]), int(found["unknown"]), found["mean"], found["most"],
                 paper.rate or "-", paper.seconds or "-"], widths
            )  # fmt: skip


def ablation(options: argparse.Namespace, rows: Rows) -> None:
    """The table of what each part is worth."""
    print(f"{options.net}, T{options.norm}, {options.device}, limit {options.timeout:g} s")
    widths = (6, 6, 20, 4, 9, 10, 10, 10, 8)
    show(["delta", "gamma", "variant", "n", "certified", "falsified", "undecided", "s decided",
          "s all"], widths)  # fmt: skip
    for delta in options.delta:
        for gamma in options.gamma:
            for variant in VARIANTS:
                run(options, rows, variant, delta, gamma)
                found = summary(
                    chosen(options, rows, variant=variant, delta=delta, gamma=number(gamma))
                )
                show(
                    [delta, gamma, variant, int(found["n"]), int(found["certified"]),
                     int(found["falsified"]), int(found["unknown"]), found["mean"], found["all"]],
                    widths,
                )  # fmt: skip


def peer(options: argparse.Namespace, rows: Rows) -> None:
    """The table beside the strongest other verifier, gamma = inf."""
    print(f"{options.net}, T{options.norm}, gamma inf, {options.device}, "
          f"{torch.get_num_threads()} threads, limit {options.timeout:g} s")  # fmt: skip
    widths = (6, 8, 6, 10, 10, 8, 14, 15, 11)
    show(["delta", "decided", "of", "certified", "falsified", "s all", "peer decided",
          "peer certified", "peer s all"], widths)  # fmt: skip
    asked = options.correct
    for delta in options.delta:
        options.correct = PEER[delta][1] if asked is None and delta in PEER else asked
        run(options, rows, "all", delta, math.inf)
        found = summary(chosen(options, rows, variant="all", delta=delta, gamma="inf"))
        theirs = PEER.get(delta)
        show(
            [delta, int(found["n"] - found["unknown"]), int(found["n"]), int(found["certified"]),
             int(found["falsified"]), found["all"],
             f"{theirs[0]} of {theirs[1]}" if theirs else "-",
             theirs[2] if theirs else "-", theirs[3] if theirs else "-"], widths
        )  # fmt: skip


def stronger(attack: Attack, times: int) -> Attack:
    """An attack with so many times the steps, restarts and tries."""
    if isinstance(attack, Cascade):
        return Cascade(tuple(stronger(one, times) for one in attack.attacks))
    if isinstance(attack, ThroughBox):
        return replace(attack, attack=stronger(attack.attack, times))
    if isinstance(attack, Search):
        return replace(attack, tries=attack.tries * times)
    if isinstance(attack, (Descent, Linearised)):
        return replace(attack, restarts=attack.restarts * times, tries=attack.tries * times)
    return attack


def certified(options: argparse.Namespace, rows: Rows) -> Iterator[tuple[int, wc.Threat]]:
    """The images that were certified, in rows of our own or in a results file of the package."""
    if options.results is not None:
        for row in read_results(Path(options.results)).rows:
            if row.status is wc.Status.CERTIFIED and (row.method == "complete" or not options.hard):
                yield row.index, wc.Threat(row.norm, row.delta, row.gamma)
        return
    for own in rows.rows.values():
        if own["status"] == "certified" and own["net"] == options.net:
            yield own["image"], wc.Threat(float(own["norm"]), own["delta"], float(own["gamma"]))


def survive(options: argparse.Namespace, rows: Rows) -> None:
    """Attack what was certified; any success is a defect of ours."""
    net, tried, broken = network(options), 0, 0
    attack, start = stronger(STRONGEST, options.times), time.perf_counter()
    images, labels = wc.load_images(
        f"{options.data}:{options.first}-{options.first + options.count - 1}", root=options.root
    )
    every = list(certified(options, rows))
    random.Random(0).shuffle(every)  # so that the time spent is spent on all kinds
    for image, threat in every:
        k = image - options.first
        if not 0 <= k < options.count or time.perf_counter() - start > options.seconds:
            continue
        found = wc.attack(net, images[k].to(options.device), int(labels[k]), threat, method=attack)
        tried += 1
        if found is not None:
            broken += 1
            print(f"certified, and yet fooled: image {image}, {threat}", flush=True)
    print(
        f"{tried} of {len(every)} certified verdicts attacked with {options.times} times the "
        f"effort: {broken} fooled"
    )


def numbers(text: str) -> Iterator[float]:
    return map(float, text.split(","))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", choices=("rates", "ablation", "peer", "survive"))
    parser.add_argument("--net", required=True)
    parser.add_argument("--mean", type=lambda text: list(numbers(text)))
    parser.add_argument("--std", type=lambda text: list(numbers(text)))
    parser.add_argument("--data", choices=tuple(SHAPES), default="mnist")
    parser.add_argument("--root", help="folder with whole data sets")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=20, help="images, right or wrong")
    parser.add_argument("--correct", type=int, help="at most so many that the network gets right")
    parser.add_argument("--norm", default="inf", choices=("1", "2", "inf"))
    parser.add_argument("--delta", type=float, nargs="*", default=[0.5])
    parser.add_argument("--gamma", type=float, nargs="*", default=[math.inf, 0.1, 0.01, 0.001])
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--times", type=int, default=10, help="effort of the attack (survive)")
    parser.add_argument("--results", metavar="FILE", help="verdicts to attack (survive)")
    parser.add_argument("--hard", action="store_true", help="only those of trees (survive)")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="begin none after (survive)"
    )
    parser.add_argument("--out", metavar="FILE")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    tables = {"rates": rates, "ablation": ablation, "peer": peer, "survive": survive}
    tables[options.table](options, Rows(options.out))


if __name__ == "__main__":
    main()
