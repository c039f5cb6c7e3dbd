"""The zoo: every network is the file that was shipped, and does what its entry says."""

from __future__ import annotations

from dataclasses import replace

import pytest

import warpcert as wc
from warpcert.data import DATASETS, ZOO


@pytest.mark.parametrize("name", ZOO)
def test_networks_load_by_name_and_are_as_right_as_they_say(name: str) -> None:
    specimen = ZOO[name]
    network = wc.load_network(name)
    assert network.input_shape == DATASETS[specimen.dataset].shape
    images, labels = wc.load_images(f"{specimen.dataset}:0-99")
    right = float((network(images).argmax(1) == labels).double().mean())
    assert abs(right - specimen.accuracy) < 0.15  # a hundred images: three deviations
    assert specimen.architecture in specimen.command and specimen.dataset in specimen.command


def test_a_changed_file_is_refused() -> None:
    specimen = replace(ZOO["mnist-convsmall-ibp"], sha256="0" * 64)
    with pytest.raises(ValueError, match="is not the file that was shipped"):
        _ = specimen.path


def test_a_missing_file_is_refused() -> None:
    with pytest.raises(ValueError, match="install again"):
        _ = replace(ZOO["mnist-convsmall-ibp"], name="gone").path
