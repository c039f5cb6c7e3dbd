"""Downloading, for real, from a server of this machine."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.data.toy import Server, Toy, send, write_tar
from warpcert.data import Selection, fetch, open_shelf
from warpcert.data.images import load_selection

SRC = Path(__file__).parents[2] / "src"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_fetch_fills_the_cache(toy: Toy, server: Server, cache: Path) -> None:
    server.files = toy.archives
    folder = fetch(toy.at(server.url), progress=False)
    assert folder == cache / toy.dataset.name
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == toy.contents
    assert sorted(server.requests) == sorted(toy.archives)


def test_fetch_fills_a_named_folder_and_makes_it(
    toy: Toy, server: Server, cache: Path, tmp_path: Path
) -> None:
    server.files = toy.archives
    folder = fetch(toy.at(server.url), tmp_path / "new" / "place", progress=False)
    assert folder == tmp_path / "new" / "place" / toy.dataset.name
    assert names(folder) == set(toy.contents)
    assert not cache.exists()
    shelf = open_shelf(toy.dataset, tmp_path / "new" / "place")
    assert (shelf.missing, shelf.damaged) == ((), ())


def test_what_is_there_is_not_fetched_again(toy: Toy, server: Server) -> None:
    server.files = toy.archives
    fetch(toy.at(server.url), progress=False)
    server.requests.clear()
    fetch(toy.at(server.url), progress=False)
    assert server.requests == []


def test_fetched_files_obey_the_umask(idx_toy: Toy, server: Server) -> None:
    server.files = idx_toy.archives
    folder = fetch(idx_toy.at(server.url), progress=False)
    (folder / "plain").touch()
    assert len({path.stat().st_mode for path in folder.iterdir()}) == 1


def test_loading_fetches_into_the_cache(toy: Toy, server: Server, cache: Path) -> None:
    server.files = toy.archives
    images, labels = load_selection(Selection(toy.at(server.url), "train", (5, 4)))
    np.testing.assert_array_equal(images, toy.arrays["train"][0][[5, 4]])
    np.testing.assert_array_equal(labels, toy.arrays["train"][1][[5, 4]])
    server.requests.clear()
    load_selection(Selection(toy.at(server.url), "test", (0,)))
    assert server.requests == []


def test_loading_from_a_named_folder_fetches_nothing(
    toy: Toy, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files = toy.archives
    selection = Selection(toy.at(server.url), "test", (0,))
    with pytest.raises(ValueError, match="no test"):
        load_selection(selection, root=tmp_path)
    monkeypatch.setenv("WARPCERT_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="no test"):
        load_selection(selection)
    assert server.requests == []


def test_a_damaged_cache_is_mended(toy: Toy, server: Server, cache: Path) -> None:
    server.files = toy.archives
    folder = fetch(toy.at(server.url), progress=False)
    name = toy.dataset.test.files[0].name
    (folder / name).write_bytes(b"damaged")
    load_selection(Selection(toy.at(server.url), "test", (0,)))
    assert (folder / name).read_bytes() == toy.contents[name]


def test_no_network_is_one_line_with_three_ways_out(toy: Toy, cache: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot download http://127\S* .*refused") as caught:
        load_selection(Selection(toy.dataset, "test", (0,)))
    line = str(caught.value)
    assert "\n" not in line
    for way in (f"{toy.dataset.name}:0-", "root=", "WARPCERT_DATA", "where there is a network"):
        assert way in line
    assert names(cache / toy.dataset.name) == set()


def test_a_missing_page(toy: Toy, server: Server, cache: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot download http://127.*Not Found"):
        fetch(toy.at(server.url), progress=False)
    assert names(cache / toy.dataset.name) == set()


def test_an_interrupted_download_leaves_nothing_and_can_be_repeated(
    toy: Toy, server: Server, cache: Path
) -> None:
    path, archive = next(iter(toy.archives.items()))
    server.files = toy.archives
    server.answers[path] = lambda handler: send(handler, archive[:-20], len(archive))
    with pytest.raises(ValueError, match="20 bytes before its end"):
        fetch(toy.at(server.url), progress=False)
    assert names(cache / toy.dataset.name) == set()
    server.answers.clear()
    folder = fetch(toy.at(server.url), progress=False)
    assert names(folder) == set(toy.contents)


def test_a_repeated_fetch_gets_only_what_is_missing(idx_toy: Toy, server: Server) -> None:
    server.files = dict(idx_toy.archives)
    del server.files["/train-labels.gz"]
    with pytest.raises(ValueError, match="Not Found"):
        fetch(idx_toy.at(server.url), progress=False)
    server.files, server.requests = idx_toy.archives, []
    fetch(idx_toy.at(server.url), progress=False)
    assert server.requests == ["/train-labels.gz"]


@pytest.mark.parametrize(
    "archive",
    [
        b"",
        b"<html>please log in</html>",
        gzip.compress(b"something else"),
        gzip.compress(bytes(10**6)),
        write_tar({"batches/other": b"x"}),
        write_tar({"batches/test.bin": b"x"}),
    ],
    ids=["nothing", "html", "other", "long", "tar without the file", "tar with another"],
)
def test_other_content_is_never_put_in_place(
    toy: Toy, server: Server, cache: Path, archive: bytes
) -> None:
    server.files = dict.fromkeys(toy.archives, archive)
    url = server.url.replace(".", r"\.")
    line = rf"{url}/\S+ (sent another|sent a damaged archive|does not hold)"
    with pytest.raises(ValueError, match=line) as caught:
        fetch(toy.at(server.url), progress=False)
    assert caught.value.__cause__ is None
    assert "\n" not in str(caught.value)
    assert names(cache / toy.dataset.name) == set()


def test_one_wrong_bit_is_seen(toy: Toy, server: Server, cache: Path) -> None:
    wrong = {name: c[:-1] + bytes([c[-1] ^ 1]) for name, c in toy.contents.items()}
    packed = {f"/{name}.gz": gzip.compress(content) for name, content in wrong.items()}
    server.files = {**packed, "/tiny.tar.gz": write_tar(wrong)}
    with pytest.raises(ValueError, match=r"sent another \S+ than the official one"):
        fetch(toy.at(server.url), progress=False)
    assert names(cache / toy.dataset.name) == set()


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9, 0.99])
def test_an_archive_that_was_cut_at_the_source(
    toy: Toy, server: Server, cache: Path, cut: float
) -> None:
    server.files = {path: a[: int(cut * len(a))] for path, a in toy.archives.items()}
    with pytest.raises(ValueError, match="sent a damaged archive"):
        fetch(toy.at(server.url), progress=False)
    for path in (cache / toy.dataset.name).iterdir():  # those before the cut
        assert path.read_bytes() == toy.contents[path.name]


def test_a_server_that_never_stops(idx_toy: Toy, server: Server, cache: Path) -> None:
    server.files = {path: bytes(10**7) for path in idx_toy.archives}
    with pytest.raises(ValueError, match=r"sent more than \d+ bytes"):
        fetch(idx_toy.at(server.url), progress=False)
    assert names(cache / "toy") == set()


def test_a_server_that_falls_silent(idx_toy: Toy, server: Server, cache: Path) -> None:
    silent = threading.Event()

    def answer(handler) -> None:
        send(handler, b"", 100)
        silent.wait(10)

    server.answers = dict.fromkeys(idx_toy.archives, answer)
    try:
        with pytest.raises(ValueError, match="timed out"):
            fetch(idx_toy.at(server.url), progress=False, timeout=0.2)
    finally:
        silent.set()
    assert names(cache / "toy") == set()


def test_a_user_who_gives_up_leaves_nothing(
    toy: Toy, server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    server.files = toy.archives
    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch(toy.at(server.url), progress=False)
    assert names(cache / toy.dataset.name) == set()


def test_leftovers_of_the_dead_are_removed_and_those_of_the_living_kept(
    idx_toy: Toy, server: Server, cache: Path
) -> None:
    server.files = idx_toy.archives
    (cache / "toy").mkdir(parents=True)
    dead, living = cache / "toy" / ".test-images.0.part", cache / "toy" / ".test-images.1.part"
    mine = cache / "toy" / "notes.part"
    for path in (dead, living, mine):
        path.touch()
    old = time.time() - 7200
    for path in (dead, mine):
        os.utime(path, (old, old))
    fetch(idx_toy.at(server.url), progress=False)
    assert not dead.exists()
    assert living.exists()
    assert mine.exists()


def test_many_may_fetch_at_once(toy: Toy, server: Server, cache: Path) -> None:
    server.files = toy.archives
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(fetch, toy.at(server.url), progress=False) for _ in range(8)]
    assert {job.result() for job in jobs} == {cache / toy.dataset.name}
    folder = cache / toy.dataset.name
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == toy.contents


PROCESS = """
import sys
from tests.data.toy import make_cifar_toy
from warpcert.data import fetch
fetch(make_cifar_toy().at(sys.argv[1]), sys.argv[2], progress=False)
"""


def test_two_processes_may_fetch_at_once(cifar_toy: Toy, server: Server, tmp_path: Path) -> None:
    both = threading.Barrier(2)  # neither is answered before the other has asked

    def answer(handler) -> None:
        both.wait(60)
        send(handler, cifar_toy.archives["/tiny.tar.gz"])

    server.answers["/tiny.tar.gz"] = answer
    paths = os.pathsep.join([str(SRC), str(SRC.parent)])
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, server.url, str(tmp_path / "both")],
            env=os.environ | {"PYTHONPATH": paths},
        )
        for _ in range(2)
    ]
    assert [process.wait(120) for process in started] == [0, 0]
    folder = tmp_path / "both" / "tiny"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == cifar_toy.contents


def test_a_killed_process_leaves_no_file_under_a_real_name(
    cifar_toy: Toy, server: Server, tmp_path: Path
) -> None:
    asked, done = threading.Event(), threading.Event()
    archive = cifar_toy.archives["/tiny.tar.gz"]

    def answer(handler) -> None:
        send(handler, archive[: len(archive) // 2], len(archive))
        asked.set()
        done.wait(60)

    server.answers["/tiny.tar.gz"] = answer
    paths = os.pathsep.join([str(SRC), str(SRC.parent)])
    process = subprocess.Popen(
        [sys.executable, "-c", PROCESS, server.url, str(tmp_path / "both")],
        env=os.environ | {"PYTHONPATH": paths},
    )
    assert asked.wait(60)
    process.kill()
    process.wait(60)
    done.set()
    folder = tmp_path / "both" / "tiny"
    assert all(name.endswith(".part") for name in names(folder))
    server.answers.clear()
    server.files = cifar_toy.archives
    fetch(cifar_toy.at(server.url), tmp_path / "both", progress=False)
    assert {n for n in names(folder) if not n.endswith(".part")} == set(cifar_toy.contents)


def test_a_folder_that_cannot_be(idx_toy: Toy, server: Server, tmp_path: Path) -> None:
    server.files = idx_toy.archives
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="cannot create the folder"):
        fetch(idx_toy.at(server.url), tmp_path / "file", progress=False)
    (tmp_path / "toy" / "test-images").mkdir(parents=True)
    with pytest.raises(ValueError, match="cannot write to"):
        fetch(idx_toy.at(server.url), tmp_path, progress=False)
    assert names(tmp_path / "toy") == {"test-images"}


def test_the_bar_is_on_standard_error(
    idx_toy: Toy,
    server: Server,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    server.files = idx_toy.archives
    fetch(idx_toy.at(server.url))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "test-images.gz" in captured.err


@pytest.mark.parametrize(("terminal", "wanted"), [("1", False), ("", True)])
def test_no_bar_where_none_is_wanted_or_nobody_looks(
    idx_toy: Toy,
    server: Server,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    terminal: str,
    wanted: bool,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", terminal)
    server.files = idx_toy.archives
    fetch(idx_toy.at(server.url), progress=wanted)
    assert capfd.readouterr() == ("", "")


def test_an_unknown_name() -> None:
    with pytest.raises(ValueError, match="no data set is named 'imagenet'"):
        fetch("imagenet", progress=False)
