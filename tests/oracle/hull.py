"""The hull program: pixels replaced by the convex hull of some points, coupled by gamma."""

from typing import Any

import highspy
import numpy as np
import numpy.typing as npt
from scipy import sparse

Floats = npt.NDArray[np.float64]


def hull_optimum(values: npt.ArrayLike, points: npt.ArrayLike, gamma: float) -> float:
    """min sum_i sum_k w_ik values[k, i], over weights w_i >= 0 that add up to 1 at each pixel.

    `values` is (K, H, W), `points` (K, 2) with columns (dx, dy). The displacements
    v_i = sum_k w_ik points[k] of 4-neighbours differ by at most gamma in each component.
    """
    cost, where = np.asarray(values, dtype=np.float64), np.asarray(points, dtype=np.float64)
    count, height, width = cost.shape
    pixels = height * width
    differences = _differences(height, width)
    lift = [sparse.kron(sparse.eye(pixels), axis[None]) for axis in where.T]
    rows = sparse.vstack(
        [
            sparse.kron(sparse.eye(pixels), np.ones((1, count))),
            *(differences @ axis for axis in lift),
        ]
    ).tocsr()
    edges = 2 * differences.shape[0]
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = pixels * count, rows.shape[0]
    program.col_cost_ = cost.transpose(1, 2, 0).ravel()
    program.col_lower_ = np.zeros(pixels * count)
    program.col_upper_ = np.full(pixels * count, np.inf)
    program.row_lower_ = np.append(np.ones(pixels), np.full(edges, -gamma))
    program.row_upper_ = np.append(np.ones(pixels), np.full(edges, gamma))
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_, program.a_matrix_.index_ = rows.indptr, rows.indices
    program.a_matrix_.value_ = rows.data
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call,unused-ignore]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    if solver.passModel(program) == highspy.HighsStatus.kError:
        raise AssertionError("HiGHS refuses the program")
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise AssertionError(f"HiGHS ended with {solver.getModelStatus()}")
    return float(solver.getInfo().objective_function_value)


def _differences(height: int, width: int) -> Any:
    """A row for each edge of the grid: its end minus its start."""
    index = np.arange(height * width).reshape(height, width)
    end = np.concatenate([index[:, 1:].ravel(), index[1:].ravel()])
    start = np.concatenate([index[:, :-1].ravel(), index[:-1].ravel()])
    edge = np.arange(len(end))
    ones = np.ones(len(end))
    return sparse.csr_matrix(
        (np.append(ones, -ones), (np.append(edge, edge), np.append(end, start))),
        shape=(len(end), height * width),
    )
