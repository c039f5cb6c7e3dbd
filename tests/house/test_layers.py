"""The architecture is a test: imports, names, printing, tolerances."""

from __future__ import annotations

import ast
import operator
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "warpcert"
MODULES = sorted(PACKAGE.rglob("*.py"))
ROUNDING = PACKAGE / "core" / "rounding.py"

Number = int | float
ARITHMETIC: dict[type[ast.operator], Callable[[Number, Number], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def constant(node: ast.AST) -> Number | None:
    """The value of an expression made of numbers alone, such as 1e-9, -1e-9 or 2**-40."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = constant(operand)
            return None if inner is None else -inner
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            a, b = constant(left), constant(right)
            if a is None or b is None or (isinstance(op, ast.Pow) and abs(b) > 2000):
                return None
            try:
                result = ARITHMETIC[type(op)](a, b)
            except ArithmeticError:
                return None
            return result if isinstance(result, int | float) else None
    return None


def tolerances(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of what looks like a tolerance: a tiny number, a closeness, an epsilon."""
    for node in ast.walk(tree):
        value = constant(node)
        if value is not None and 0 < abs(value) < 1e-5:
            yield node.lineno, ast.unparse(node)  # type: ignore[attr-defined]  # an expression
        match node:
            case ast.Attribute(attr="allclose" | "isclose" | "eps" | "epsilon" | "ulp"):
                yield node.lineno, ast.unparse(node)
            case ast.keyword(arg="atol" | "rtol" | "abs_tol" | "rel_tol"):
                yield node.value.lineno, ast.unparse(node)


def prints(tree: ast.AST) -> Iterator[int]:
    """Lines that call print."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="print")):
                yield node.lineno


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def test_imports_follow_the_layers() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_modules_to_look_at() -> None:
    assert ROUNDING in MODULES


def test_only_the_command_line_prints() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in MODULES
        if PACKAGE / "cli" not in path.parents
        for line in prints(parse(path))
    ]
    assert not found


def test_tolerances_live_in_the_rounding_module() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in MODULES
        if path != ROUNDING
        for line, text in tolerances(parse(path))
    ]
    assert not found


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    drawers = {"utils", "util", "helpers", "helper", "common", "misc"}
    found = [path for path in PACKAGE.rglob("*") if path.stem.strip("_") in drawers]
    assert not found


STRAY = ["1e-9", "-1e-6", "f(x, 2**-40)", "y = 10.0**-8", "x + 1 / 2**30", "3 * 1e-7 < x"]
STRAY += ["torch.isclose(x, y)", "f(x, atol=0.1)", "torch.finfo(x.dtype).eps", "math.ulp(1.0)"]
HONEST = ["0", "0.0", "-0.5", "1e-5", "1e12", "x**-9", "1 / 255", "2**62", "1 / 0", "(-1) ** 0.5"]


@pytest.mark.parametrize("source", STRAY)
def test_a_stray_tolerance_is_seen(source: str) -> None:
    assert list(tolerances(ast.parse(source)))


@pytest.mark.parametrize("source", HONEST)
def test_an_honest_number_is_not_a_tolerance(source: str) -> None:
    assert not list(tolerances(ast.parse(source)))
