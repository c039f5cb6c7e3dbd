"""publish: put the finished networks of a campaign into the zoo."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from warpcert.core.durable import write_whole
from warpcert.data.zoo import FOLDER, INDEX
from warpcert.train.campaign import Campaign
from warpcert.train.job import write_json
from warpcert.train.plan import Entry

LIMIT = 40_000_000
"""Bytes that all networks which come with the package may have together."""

KEPT = (
    "bytes",
    "sha256",
    "made_on",
    "test",
    "test_by_delta",
    "bundled",
)


def publish(campaign: Campaign, folder: Path = FOLDER) -> Iterator[str]:
    """Copy networks that ship, write down what is known of all, and say so.

    What the index already says of other networks stays. A network whose bytes are not those that
    were examined is refused.
    """
    path = folder / INDEX
    index = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for entry in campaign.entries:
        summary = campaign.summary(entry)
        if summary is None:
            yield f"{entry.name}: {campaign.state(entry)}, left as it is"
            continue
        if entry.ships:
            content = (campaign.folder / entry.name / "network.onnx").read_bytes()
            if hashlib.sha256(content).hexdigest() != summary["sha256"]:
                raise ValueError(f"{entry.name}: network.onnx is not the one that was examined")
            write_whole(folder / f"{entry.name}.onnx", content)
        index[entry.name] = _known(entry) | {key: summary[key] for key in KEPT}
        yield f"{entry.name}: published"
    total = sum(known["bytes"] for known in index.values() if known["ships"])
    if total > LIMIT:
        raise ValueError(f"the networks that ship have {total} bytes, at most {LIMIT} may")
    write_json(path, index)
    yield f"{total} bytes ship"


def _known(entry: Entry) -> dict[str, Any]:
    """What the options say; the summary was made by the same ones."""
    options = entry.options
    return {
        "ships": entry.ships,
        "dataset": options.dataset,
        "architecture": options.arch,
        "training": options.loss,
        "trained_for": options.learned.title,
        "threat": options.examined.title,
        "command": options.command,
    }
