"""From a spec to a selection and back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpcert.data import CIFAR10, DATASETS, FASHION, MNIST, Dataset, Selection, parse_spec


@st.composite
def parts(draw: st.DrawFn) -> tuple[Dataset, str, tuple[int, ...]]:
    dataset = draw(st.sampled_from(list(DATASETS.values())))
    split = draw(st.sampled_from(["test", "train"]))
    index = st.integers(0, dataset.splits[split].count - 1)
    near = st.integers(0, 5)  # so that neighbours and repetitions happen
    indices = draw(st.lists(index | near, min_size=1, max_size=12))
    return dataset, split, tuple(indices)


@given(parts())
def test_a_selection_survives_being_written(drawn: tuple[Dataset, str, tuple[int, ...]]) -> None:
    selection = Selection(*drawn)
    assert parse_spec(str(selection)) == selection


@given(st.text(max_size=20) | st.text("mnist:/0123456789-, ", max_size=20))
def test_any_text_is_a_selection_or_one_clear_line(text: str) -> None:
    for spec in (text, f"mnist:{text}", f"mnist/{text}"):
        try:
            selection = parse_spec(spec)
        except ValueError as error:
            line = str(error)
        else:
            line = repr(str(selection))
            assert parse_spec(str(selection)) == selection
        assert "\n" not in line
        assert repr(spec)[1:5] in line


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("mnist:0-3", Selection(MNIST, "test", (0, 1, 2, 3))),
        ("cifar10:3", Selection(CIFAR10, "test", (3,))),
        ("fashion:0-2,20,30-31", Selection(FASHION, "test", (0, 1, 2, 20, 30, 31))),
        ("mnist: 7 , 5 - 6, 5", Selection(MNIST, "test", (7, 5, 6, 5))),
        ("mnist/test:9999", Selection(MNIST, "test", (9999,))),
        ("mnist/train:59999", Selection(MNIST, "train", (59999,))),
        ("mnist", Selection(MNIST, "test", tuple(range(100)))),
        ("mnist/test", Selection(MNIST, "test", tuple(range(10_000)))),
        ("cifar10/train", Selection(CIFAR10, "train", tuple(range(50_000)))),
    ],
)
def test_known_specs(spec: str, expected: Selection) -> None:
    assert parse_spec(spec) == expected


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("mnist:5-2", "range 5-2 runs backwards"),
        ("mnist:abc", "'abc' is neither an index nor a range"),
        ("mnist:", "'' is neither an index nor a range"),
        ("mnist:1,,2", "'' is neither an index nor a range"),
        ("mnist:-1", "'-1' is neither an index nor a range"),
        ("mnist:1-2-3", "'1-2-3' is neither an index nor a range"),
        ("mnist:1.5", "'1.5' is neither an index nor a range"),
        ("mnist:٣", "'٣' is neither an index nor a range"),
        ("mnist:" + "9" * 5000, "is neither an index nor a range"),
        ("mnist:10000", "index 10000 is past the end, the test split has 10000 images"),
        ("mnist:0-999999999999", "index 999999999999 is past the end"),
        ("cifar10/train:50000", "index 50000 is past the end, the train split has 50000 images"),
        ("imagenet:0", "'imagenet:0' names no data set: use one of mnist, cifar10, fashion"),
        ("", "'' names no data set"),
        ("MNIST:0", "'MNIST:0' names no data set"),
        ("picture.bmp", "a path that ends in .npz, .png, .jpg or .jpeg"),
        ("mnist/valid:0", "names split 'valid' of mnist: use mnist/test or mnist/train"),
        ("mnist/:0", "names split '' of mnist"),
    ],
)
def test_wrong_specs(spec: str, line: str) -> None:
    with pytest.raises(ValueError, match=re.escape(line)) as caught:
        parse_spec(spec)
    assert len(str(caught.value)) < 300


def test_bundled_is_the_first_hundred_of_the_test_split() -> None:
    assert parse_spec("mnist").bundled
    assert parse_spec("mnist:99,0").bundled
    assert not parse_spec("mnist:100").bundled
    assert not parse_spec("mnist:100,0").bundled
    assert not parse_spec("mnist/train:0").bundled
