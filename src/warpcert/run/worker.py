"""serve: a process that makes verdicts for another."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import traceback
from multiprocessing.connection import Connection, wait
from multiprocessing.process import parent_process
from typing import Any

import torch

from warpcert.core.memory import claim_share
from warpcert.run.desk import Desk

READY = "ready"
BROKEN = 70
"""The exit code of a worker whose device is beyond use."""


def send(connection: Connection, value: Any) -> None:
    """Send a value by copy: memory shared with a process that is killed would be left behind."""
    connection.send_bytes(pickle.dumps(value))


def receive(connection: Connection) -> Any:
    """What the other side sent; EOFError or OSError if it is gone."""
    return pickle.loads(connection.recv_bytes())


def serve(connection: Connection, device: str, beside: int) -> None:
    """Answer jobs until the other side is gone: first the task and network, then images.

    ``beside`` processes, this one among them, share the device.
    An answer is a list of verdicts, or the error that came instead.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that is asked
    threading.Thread(target=_follow_parent, daemon=True).start()
    torch.set_num_threads(1)
    try:
        task, network = receive(connection)
        try:
            claim_share(torch.device(device), beside)
            desk = Desk(task, network.to(device))
        except Exception as error:
            send(connection, _portable(error))
            return
        send(connection, READY)
        while True:
            delta, gamma, images, labels = receive(connection)
            send(connection, _answer(desk, delta, gamma, images, labels))
    except (EOFError, OSError):
        return


def _answer(desk: Desk, delta: float, gamma: float, images: Any, labels: Any) -> Any:
    try:
        return desk(delta, gamma, torch.from_numpy(images), torch.from_numpy(labels))
    except torch.AcceleratorError:  # nothing works on a device after this
        traceback.print_exc()
        os._exit(BROKEN)
    except Exception as error:
        return _portable(error)


def _portable(error: Exception) -> Exception:
    """The error with its traceback as text, in a form that can be sent."""
    told = traceback.format_exc()
    try:
        copy = pickle.loads(pickle.dumps(error))
        assert isinstance(copy, Exception)
    except Exception:
        copy = RuntimeError(str(error))
    copy.add_note(f"in a worker process:\n{told}")
    return copy


def _follow_parent() -> None:
    """End at once when the parent is gone, also in the midst of a job."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
