"""A picture file is whole or not there."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from PIL import Image

from warpcert.cli.refusal import Refusal
from warpcert.cli.save import save_figure


@pytest.fixture
def figure() -> Figure:
    figure = Figure((2, 1))
    figure.add_subplot().imshow([[0, 1]])
    return figure


@pytest.mark.parametrize(
    ("name", "start"),
    [("b.png", b"\x89PNG"), ("b.PNG", b"\x89PNG"), ("b.pdf", b"%PDF"), ("b.svg", b"<?xml")],
)
def test_the_suffix_names_the_format(
    tmp_path: Path, figure: Figure, name: str, start: bytes
) -> None:
    save_figure(figure, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert content.startswith(start)
    save_figure(figure, tmp_path / name)
    assert (tmp_path / name).read_bytes() == content  # no dates, no random names
    assert not re.search(rb"CreationDate|<dc:date>", content)


def test_the_file_obeys_the_umask_and_replaces_what_was_there(
    tmp_path: Path, figure: Figure
) -> None:
    (tmp_path / "plain").touch()
    (tmp_path / "b.png").write_bytes(b"old")
    save_figure(figure, tmp_path / "b.png")
    assert len({path.stat().st_mode for path in tmp_path.iterdir()}) == 1
    with Image.open(tmp_path / "b.png") as picture:
        picture.load()


def test_a_link_stays_a_link(tmp_path: Path, figure: Figure) -> None:
    (tmp_path / "link.png").symlink_to("real.png")
    save_figure(figure, tmp_path / "link.png")
    assert (tmp_path / "link.png").is_symlink()
    assert (tmp_path / "real.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_failure_leaves_everything_as_it_was(
    tmp_path: Path, figure: Figure, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(_self: object, stream: object, **_: object) -> None:
        stream.write(b"\x89PNG")  # type: ignore[attr-defined]
        raise error

    (tmp_path / "b.png").write_bytes(b"old")
    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises((Refusal, KeyboardInterrupt)):
        save_figure(figure, tmp_path / "b.png")
    assert [path.name for path in tmp_path.iterdir()] == ["b.png"]
    assert (tmp_path / "b.png").read_bytes() == b"old"


def test_a_folder_that_went_away(tmp_path: Path, figure: Figure) -> None:
    with pytest.raises(Refusal, match=r"b\.png cannot be written \(No such file or directory\)"):
        save_figure(figure, tmp_path / "gone" / "b.png")
