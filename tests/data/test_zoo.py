"""The zoo: every network is the file that was shipped, and does what its entry says."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest
import torch

import warpcert as wc
from warpcert.data import DATASETS, ZOO
from warpcert.data.zoo import FOLDER, INDEX
from warpcert.train import ARCHITECTURES, OBJECTIVES, Deck, examine
from warpcert.train.__main__ import read_options
from warpcert.train.publish import LIMIT

SHIPPED = [name for name, specimen in ZOO.items() if specimen.ships]


@pytest.mark.parametrize("name", SHIPPED)
def test_networks_do_what_they_say_on_the_bundled_images(name: str) -> None:
    specimen = ZOO[name]
    network = wc.load_network(name)
    assert network.input_shape == DATASETS[specimen.dataset].shape
    images, labels = wc.load_images(f"{specimen.dataset}:0-99")
    right = int((network(images.double()).argmax(1) == labels).sum())
    assert right == specimen.bundled.correct
    deck = Deck((images * 255).round().to(torch.uint8), labels)
    threat = read_options(shlex.split(specimen.command)[2:]).examined
    assert threat.title == specimen.threat
    assert examine(network, deck, threat).certified == specimen.bundled.certified


@pytest.mark.parametrize("name", ZOO)
def test_entries_agree_with_themselves(name: str) -> None:
    specimen = ZOO[name]
    options = read_options(shlex.split(specimen.command)[2:])
    assert (options.arch, options.dataset) == (specimen.architecture, specimen.dataset)
    assert options.command == specimen.command and options.loss == specimen.training
    assert options.learned.title == specimen.trained_for
    assert specimen.architecture in ARCHITECTURES and specimen.training in OBJECTIVES
    for counts, every in (
        (specimen.test, 10_000),
        (specimen.bundled, 100),
        *((counts, 10_000) for counts in specimen.test_by_delta.values()),
    ):
        assert 0 <= counts.certified <= counts.correct <= counts.all == every
    assert specimen.accuracy == specimen.test.correct / 10_000
    assert specimen.certified == specimen.test.certified / 10_000
    certified = [specimen.test_by_delta[d].certified for d in sorted(specimen.test_by_delta)]
    assert certified == sorted(certified, reverse=True)


def test_the_folder_holds_what_ships_and_no_more() -> None:
    found = {path.name for path in FOLDER.iterdir()}
    assert found == {INDEX, *(f"{name}.onnx" for name in SHIPPED)}
    sizes = {name: (FOLDER / f"{name}.onnx").stat().st_size for name in SHIPPED}
    assert sizes == {name: ZOO[name].bytes for name in SHIPPED}
    assert sum(sizes.values()) <= LIMIT == 40_000_000
    assert list(json.loads((FOLDER / INDEX).read_text())) == list(ZOO)


def test_a_changed_file_is_refused() -> None:
    specimen = replace(ZOO["mnist-convsmall-ibp"], sha256="0" * 64)
    with pytest.raises(ValueError, match="is not the file that was shipped"):
        _ = specimen.path


def test_a_missing_file_is_refused() -> None:
    with pytest.raises(ValueError, match="install again"):
        _ = replace(ZOO["mnist-convsmall-ibp"], name="gone").path


def test_one_that_does_not_ship_says_how_to_make_it(monkeypatch: pytest.MonkeyPatch) -> None:
    specimen = replace(ZOO["mnist-convsmall-ibp"], name="large", ships=False)
    monkeypatch.setattr("warpcert.data.zoo.ZOO", {"large": specimen})
    with pytest.raises(ValueError, match="large is too large to come with the package") as caught:
        wc.load_network("large")
    assert f"'{specimen.command} --out FOLDER'" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
