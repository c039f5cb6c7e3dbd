"""`parse_spec`: from `"mnist:0-9,20"` to a `Selection`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from warpcert.data.catalogue import DATASETS
from warpcert.data.dataset import Dataset

_RANGE = re.compile(r"\s*([0-9]{1,18})\s*(?:-\s*([0-9]{1,18})\s*)?")


@dataclass(frozen=True)
class Selection:
    """Images of one split of a data set, by index, in the order asked for.

    `str(selection)` is a spec that parses to an equal selection.
    """

    dataset: Dataset
    split: str
    indices: tuple[int, ...]

    def __str__(self) -> str:
        runs = ",".join(f"{a}-{b}" if a < b else f"{a}" for a, b in _runs(self.indices))
        return f"{self.dataset.name}{'' if self.split == 'test' else '/' + self.split}:{runs}"

    @property
    def names(self) -> tuple[str, ...]:
        """A spec for each image alone."""
        return tuple(str(Selection(self.dataset, self.split, (k,))) for k in self.indices)

    @property
    def bundled(self) -> bool:
        """Whether every image of it comes with the package."""
        return self.split == "test" and max(self.indices) < self.dataset.bundled


def parse_spec(spec: str, datasets: Mapping[str, Dataset] = DATASETS) -> Selection:
    """The selection that `spec` names: `NAME[/SPLIT][:INDICES]`.

    NAME is a data set, SPLIT `test` (the default) or `train`, INDICES a comma-separated list of
    indices and of ranges with both ends included. Without indices, NAME alone is the bundled
    images (the first 100 of the test split), NAME/SPLIT the whole split.
    """
    head, colon, listed = spec.partition(":")
    name, slash, split_name = head.strip().partition("/")
    if name not in datasets:
        raise ValueError(
            f"{_shown(spec)} names no data set: use one of {', '.join(datasets)} "
            "(such as 'mnist:0-9'), or a path that ends in .npz, .png, .jpg or .jpeg"
        )
    dataset = datasets[name]
    split_name = split_name if slash else "test"
    if split_name not in dataset.splits:
        raise ValueError(
            f"{_shown(spec)} names split {split_name!r} of {name}: use {name}/test or {name}/train"
        )
    count = dataset.splits[split_name].count
    if colon:
        indices = tuple(_indices(listed, spec, split_name, count))
    else:
        indices = tuple(range(count if slash else dataset.bundled))
    return Selection(dataset, split_name, indices)


def _indices(listed: str, spec: str, split: str, count: int) -> Iterator[int]:
    """The indices of a list of ranges, each checked to lie below `count`."""
    for part in listed.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ValueError(
                f"{_shown(spec)}: {_shown(part)} is neither an index nor a range: "
                "write indices as in 'mnist:0-9,20'"
            )
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if last < first:
            raise ValueError(f"{_shown(spec)}: range {first}-{last} runs backwards: swap its ends")
        if last >= count:
            raise ValueError(
                f"{_shown(spec)}: index {last} is past the end, "
                f"the {split} split has {count} images: use 0 to {count - 1}"
            )
        yield from range(first, last + 1)


def _runs(indices: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """The ends of the maximal runs of consecutive indices."""
    start = 0
    for end in range(1, len(indices) + 1):
        if end == len(indices) or indices[end] != indices[end - 1] + 1:
            yield indices[start], indices[end - 1]
            start = end


def _shown(text: str, longest: int = 60) -> str:
    """`text` in quotes, cut when it is long."""
    return repr(text if len(text) <= longest else text[:longest] + "...")
