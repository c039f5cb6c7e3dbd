"""run_job: a run of training from data to a network with its numbers."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Generator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from warpcert.core.durable import write_whole
from warpcert.data import open_shelf
from warpcert.net import load_network
from warpcert.train.deck import Deck, load_deck
from warpcert.train.examine import examine
from warpcert.train.export import export
from warpcert.train.log import Entry, Log
from warpcert.train.loop import Lesson, train
from warpcert.train.options import Options, Place
from warpcert.train.prepare import prepare
from warpcert.train.surroundings import Bending
from warpcert.train.weights import save_weights

DELTAS = (0.3, 0.4, 0.5, 0.7, 0.9)
"""Displacements, in the maximum norm, that every finished network is examined at."""

BUNDLED = 100
"""Test images that come with the package."""

Tell = Callable[[Entry], None]
Summary = dict[str, Any]


def run_job(options: Options, place: Place, tell: Tell) -> Summary | None:
    """Train, write weights, network and summary; the summary, or None if time was up before."""
    began = time.monotonic()
    device = find_device(place.device)
    check_folder(place.out)
    classes = len(open_shelf(options.dataset, place.root).dataset.classes)
    images = load_deck(options.dataset, "train", place.root).to(device)
    training, validation = split(images, options.validation)
    lesson = Lesson(training, validation, options.learned, options.examined)
    module = prepare(options.arch, lesson.training, classes, options.seed).to(device)
    left = place.stop_after - (time.monotonic() - began)
    run = train(module, lesson, options.recipe, place.out, eager=place.eager, seconds=left)
    if not _follow(run, tell):
        return None
    kept = _kept(options, place.out)
    if kept is not None:
        return kept
    module.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]  # untyped
    save_weights(module, place.out / "weights.npz")
    path = place.out / "network.onnx"
    _, *shape = images.images.shape
    export(module.eval(), (shape[0], shape[1], shape[2]), path, half=True)
    test = load_deck(options.dataset, "test", place.root).to(device)
    summary = summarise(options, path, validation, test, device)
    summary["seconds"] = Log(place.out / "log.jsonl").read()[-1].seconds
    write_json(place.out / "summary.json", summary)
    return summary


def _kept(options: Options, folder: Path) -> Summary | None:
    """The summary that an earlier call has written for this network, if both are whole."""
    try:
        found: Summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        content = (folder / "network.onnx").read_bytes()
    except OSError:
        return None
    same = found["command"] == options.command
    return found if same and found["sha256"] == hashlib.sha256(content).hexdigest() else None


def _follow(run: Generator[Entry, None, bool], tell: Tell) -> bool:
    """Tell every epoch; whether the run is finished."""
    while True:
        try:
            entry = next(run)
        except StopIteration as end:
            return bool(end.value)
        tell(entry)


def summarise(
    options: Options, path: Path, validation: Deck, test: Deck, device: torch.device
) -> Summary:
    """What is to be said of a finished network: counts are certified, correct and all."""
    network = load_network(path).to(device)
    examined = options.examined
    content = path.read_bytes()
    bent = {delta: Bending(math.inf, delta) for delta in DELTAS}
    return {
        "dataset": options.dataset,
        "architecture": options.arch,
        "training": options.loss,
        "trained_for": options.learned.title,
        "threat": examined.title,
        "command": options.command,
        "options": asdict(options),
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "made_on": f"{device_name(device)}, torch {torch.__version__}",
        "test": asdict(examine(network, test, examined)),
        "validation": asdict(examine(network, validation, examined)),
        "bundled": asdict(examine(network, test.take(slice(0, BUNDLED)), examined)),
        "test_by_delta": {f"{d}": asdict(examine(network, test, b)) for d, b in bent.items()},
        "validation_by_delta": {
            f"{d}": asdict(examine(network, validation, b)) for d, b in bent.items()
        },
    }


def split(images: Deck, validation: int) -> tuple[Deck, Deck]:
    """Images for training and, drawn at random and always the same, for validation alone.

    Drawn, because MNIST is not shuffled: its last images are easier, and so is every other one.
    """
    if not 0 < validation < len(images):
        raise ValueError(f"--validation must be between 1 and {len(images) - 1}, got {validation}")
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    order = order.to(images.labels.device)
    return images.take(order[validation:]), images.take(order[:validation])


def find_device(name: str) -> torch.device:
    """The device of this name, if it is there."""
    try:
        device = torch.device(name)
        torch.zeros((), device=device)
    except (RuntimeError, AssertionError):
        raise ValueError(f"--device {name} is not at hand: use cpu or cuda") from None
    return device


def device_name(device: torch.device) -> str:
    """The device in words."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def check_folder(folder: Path) -> None:
    """Refuse, before anything is trained, a folder that cannot be written or is another's."""
    probe = folder / ".probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise ValueError(f"{folder} cannot be written ({error.strerror}): name another") from None
    if (folder / "checkpoint.pt").exists():
        return  # it says whose the folder is
    for name in ("weights.npz", "network.onnx", "summary.json"):
        if (folder / name).exists():
            raise ValueError(f"{folder} has a {name} but no checkpoint.pt: name another folder")


def write_json(path: Path, value: object) -> None:
    """A JSON file that is whole or not there."""
    text = json.dumps(value, indent=2, allow_nan=False)
    write_whole(path, f"{text}\n".encode())
