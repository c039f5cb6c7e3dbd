"""What can be bounded, said in one place."""

from __future__ import annotations

from warpcert.core import Unsupported

OPERATORS = (
    "2-d convolution, linear and matmul with constants, add and sub, mul and div by constants, "
    "concat, split, constant pad, flatten, reshape, transpose, expand, slice, select and gather, "
    "sum and mean over axes, batch normalisation, average, adaptive average and max pooling, "
    "relu, leaky relu, sigmoid, tanh, square, log, abs, clamp and hardtanh, maximum and minimum"
)


def unsupported(operator: str, node: str, why: str = "") -> Unsupported:
    """The error for an operator that cannot be bounded, or not in this use of it."""
    reason = f" ({why})" if why else ""
    if operator.lower().rpartition(".")[2].strip("_") in ("softmax", "logsoftmax", "log_softmax"):
        reason = f" ({why or 'leave a final softmax out: verdicts are about the scores before it'})"
    return Unsupported(
        f"operator {operator} at node {node!r} cannot be bounded{reason}; supported: {OPERATORS}"
    )


class Refused(Exception):  # noqa: N818 - it becomes an Unsupported once the node's name is known
    """An operator in a use that cannot be bounded, and why."""
