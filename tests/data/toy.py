"""Small data sets in the real formats, and a server for them."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
from numpy.typing import NDArray

from warpcert.data.cifar import parse_cifar10
from warpcert.data.dataset import DataFile, Dataset, Download, Split
from warpcert.data.idx import parse_idx_pair
from warpcert.data.unpack import unpack_gzip, unpack_tar

Bytes = NDArray[np.uint8]


def write_idx(array: Bytes) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_cifar(images: Bytes, labels: Bytes) -> bytes:
    return np.concatenate([labels[:, None], images.reshape(len(images), -1)], 1).tobytes()


def write_tar(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def describe(name: str, content: bytes) -> DataFile:
    return DataFile(name, len(content), hashlib.sha256(content).hexdigest())


@dataclass(frozen=True)
class Toy:
    """A data set, the contents of its files, the arrays in them and the archives to download."""

    dataset: Dataset
    contents: dict[str, bytes]
    arrays: dict[str, tuple[Bytes, Bytes]]
    archives: dict[str, bytes]

    def at(self, url: str) -> Dataset:
        return replace(self.dataset, url=url)


def _arrays(count: int, shape: tuple[int, int, int], seed: int) -> tuple[Bytes, Bytes]:
    draw = np.random.default_rng(seed)
    images = draw.integers(0, 256, (count, *shape), np.uint8)
    return images, draw.integers(0, 10, count, np.uint8)


def make_idx_toy() -> Toy:
    """Six test and nine training images of 4 rows and 5 columns, one .gz for each file."""
    arrays = {"test": _arrays(6, (1, 4, 5), 1), "train": _arrays(9, (1, 4, 5), 2)}
    contents: dict[str, bytes] = {}
    splits, downloads = {}, []
    for split, (images, labels) in arrays.items():
        pair = {f"{split}-images": write_idx(images[:, 0]), f"{split}-labels": write_idx(labels)}
        files = tuple(describe(name, content) for name, content in pair.items())
        contents |= pair
        splits[split] = Split(files, len(images))
        downloads += [Download(f"{file.name}.gz", (file,), unpack_gzip) for file in files]
    dataset = Dataset(
        name="toy",
        title="Toy",
        licence="none",
        shape=(1, 4, 5),
        classes=tuple("0123456789"),
        test=splits["test"],
        train=splits["train"],
        url="http://127.0.0.1:9",
        downloads=tuple(downloads),
        folders=("toy", "Toy/raw", "."),
        parse=parse_idx_pair,
        bundled=0,
    )
    archives = {f"/{name}.gz": gzip.compress(content) for name, content in contents.items()}
    return Toy(dataset, contents, arrays, archives)


def make_cifar_toy() -> Toy:
    """Two test images and two batches of three training images, all in one .tar.gz."""
    shape = (3, 32, 32)
    batches = {
        "test.bin": _arrays(2, shape, 3),
        "one.bin": _arrays(3, shape, 4),
        "two.bin": _arrays(3, shape, 5),
    }
    contents = {name: write_cifar(*arrays) for name, arrays in batches.items()}
    test, *train = (describe(name, content) for name, content in contents.items())
    train_batches = (batches["one.bin"], batches["two.bin"])
    joined = [np.concatenate(pair) for pair in zip(*train_batches, strict=True)]
    dataset = Dataset(
        name="tiny",
        title="Tiny",
        licence="none",
        shape=shape,
        classes=tuple("0123456789"),
        test=Split((test,), 2),
        train=Split(tuple(train), 6),
        url="http://127.0.0.1:9",
        downloads=(Download("tiny.tar.gz", (test, *train), unpack_tar),),
        folders=("tiny", "batches", "."),
        parse=parse_cifar10,
        bundled=0,
    )
    members = {f"batches/{name}": content for name, content in contents.items()}
    archive = write_tar({"batches/readme.html": b"hello", **members})
    arrays = {"test": batches["test.bin"], "train": (joined[0], joined[1])}
    return Toy(dataset, contents, arrays, {"/tiny.tar.gz": archive})


Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Server:
    """Answers `files` by path; `answers` come before them; `requests` are the paths asked for."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)


def send(handler: BaseHTTPRequestHandler, content: bytes, length: int | None = None) -> None:
    """Send `content`, and promise `length` bytes."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content) if length is None else length))
    handler.end_headers()
    handler.wfile.write(content)


@contextmanager
def serve() -> Iterator[Server]:
    """A server on a free port of this machine."""
    served = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.requests.append(self.path)
            if self.path in served.answers:
                served.answers[self.path](self)
            elif self.path in served.files:
                send(self, served.files[self.path])
            else:
                self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            pass  # clients hang up in the middle of an answer: that is what is being tested

    with Quiet(("127.0.0.1", 0), Handler) as httpd:
        served.url = f"http://127.0.0.1:{httpd.server_address[1]}"
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield served
        finally:
            httpd.shutdown()
            thread.join()
