"""Reference linear programs, solved by HiGHS one at a time."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt

from .picture import Number
from .region import Box, region

Floats = npt.NDArray[np.float64]


def plane_optimum(points: npt.ArrayLike, values: npt.ArrayLike) -> float:
    """max sum_k (c + a x_k + b y_k) subject to c + a x_k + b y_k <= values[k] for all k.

    `points` is (K, 2) with columns (x, y), `values` is (K,). This is the program of the
    lower-bounding plane, which minimises the summed gap between values and plane: the gap's sum is
    sum(values) minus the number returned. Its optimum is unique, its plane need not be. For the
    upper plane negate the values and the result.
    """
    where = np.asarray(points, dtype=np.float64)
    bound = np.asarray(values, dtype=np.float64)
    if where.ndim != 2 or where.shape[1] != 2 or bound.shape != (len(where),) or not len(where):
        raise ValueError(f"{where.shape} points do not fit {bound.shape} values")
    rows = np.column_stack([np.ones(len(where)), where])
    free = np.full(3, math.inf)
    entries = [[(k, row[k]) for k in range(3)] for row in rows.tolist()]
    answer = _minimise(-rows.sum(axis=0), -free, free, entries, bound)
    if answer is None:
        raise AssertionError("a plane far below all values is feasible")
    return -answer


def tinf_candidates(delta: Number, box: Box | None = None) -> list[tuple[Fraction, Fraction]]:
    """The displacements (x, y) that decide every question about norm inf, each once, in order.

    Per axis: both ends of [-delta, delta] cut with the box, and the integers (grid lines, since
    pixels sit on integers) between them. Between neighbouring candidates of an axis the value of
    any pixel is affine in that axis, clamped coordinates included, so the function over the region
    has its extrema on the product of the two lists, with any slope added.
    """
    where = region(math.inf, delta, box)
    columns = _stops(where.x0, where.x1)
    rows = _stops(where.y0, where.y1)
    return [(x, y) for x in columns for y in rows]


def _stops(low: Fraction, high: Fraction) -> list[Fraction]:
    lines = {Fraction(t) for t in range(math.ceil(low), math.floor(high) + 1)}
    return sorted(lines | {low, high})


def nearest_member_linf(
    field: npt.ArrayLike, gamma: float, lo: npt.ArrayLike, hi: npt.ArrayLike
) -> float:
    """The max-norm distance from `field` to the smooth fields within per-pixel boxes.

    `field` is (H, W, 2); `lo` and `hi` broadcast to it and may be infinite. The set: lo <= u <= hi
    and |u_p - u_q| <= gamma in each component for 4-neighbours p, q (gamma = inf: free).
    Minimises t subject to -t <= u - field <= t. ValueError when the set is empty.
    """
    target = np.asarray(field, dtype=np.float64)
    if target.ndim != 3 or target.shape[2] != 2:
        raise ValueError(f"a field has shape (H, W, 2), not {target.shape}")
    if math.isnan(gamma) or gamma < 0:
        raise ValueError(f"gamma is at least 0, not {gamma!r}")
    count = target.size
    index = np.arange(count).reshape(target.shape)
    lower = np.append(np.broadcast_to(np.asarray(lo, dtype=np.float64), target.shape).ravel(), 0.0)
    upper = np.append(
        np.broadcast_to(np.asarray(hi, dtype=np.float64), target.shape).ravel(), math.inf
    )
    if np.any(lower > upper):
        raise ValueError("no field fits the boxes: lo > hi")
    entries: list[list[tuple[int, float]]] = []
    bounds: list[float] = []
    for k, goal in enumerate(target.ravel().tolist()):
        entries += [[(k, 1.0), (count, -1.0)], [(k, -1.0), (count, -1.0)]]
        bounds += [goal, -goal]
    if math.isfinite(gamma):
        pairs = [(index[1:], index[:-1]), (index[:, 1:], index[:, :-1])]
        for here, there in pairs:
            for p, q in zip(here.ravel().tolist(), there.ravel().tolist(), strict=True):
                entries += [[(p, 1.0), (q, -1.0)], [(p, -1.0), (q, 1.0)]]
                bounds += [float(gamma), float(gamma)]
    cost = np.append(np.zeros(count), 1.0)
    answer = _minimise(cost, lower, upper, entries, np.asarray(bounds))
    if answer is None:
        raise ValueError("no field fits the boxes and gamma")
    return answer


def _minimise(
    cost: Floats,
    lower: Floats,
    upper: Floats,
    rows: Sequence[Sequence[tuple[int, float]]],
    bounds: Floats,
) -> float | None:
    """min cost . u with lower <= u <= upper and rows u <= bounds; None when infeasible."""
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(cost), len(rows)
    program.col_cost_, program.col_lower_, program.col_upper_ = cost, lower, upper
    program.row_lower_, program.row_upper_ = np.full(len(rows), -math.inf), bounds
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.cumsum([0, *(len(row) for row in rows)]).astype(np.int32)
    program.a_matrix_.index_ = np.array([k for row in rows for k, _ in row], dtype=np.int32)
    program.a_matrix_.value_ = np.array([v for row in rows for _, v in row], dtype=np.float64)
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call,unused-ignore]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("primal_feasibility_tolerance", 1e-10)
    solver.setOptionValue("dual_feasibility_tolerance", 1e-10)
    if solver.passModel(program) == highspy.HighsStatus.kError:
        raise AssertionError("HiGHS refuses the program")
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    if status != highspy.HighsModelStatus.kOptimal:
        raise AssertionError(f"HiGHS ended with {status}")
    return float(solver.getInfo().objective_function_value)
