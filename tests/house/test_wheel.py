"""What a user gets: the wheel, installed into an environment of its own, run from elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def call(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that can see neither this checkout nor this test's environment."""
    hidden = {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONWARNINGS", "MPLBACKEND", "COLUMNS"}
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, source)
    for name in ("src", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist"]
    done = call(*command, cwd=source)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (source / "dist").glob("*.whl")
    return path


def install(wheel: Path, folder: Path) -> Path:
    """Install a wheel into a fresh environment and return the folder of its commands."""
    venv.create(folder, with_pip=True)
    options = ["-qq", "--disable-pip-version-check", "-c", str(ROOT / "constraints.txt")]
    python = folder / "bin" / "python"
    done = call(python, "-m", "pip", "install", *options, wheel, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "bin"


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert wheel.name == "warpcert-0.1.0-py3-none-any.whl"
    assert {name.split("/")[0] for name in names} == {"warpcert", "warpcert-0.1.0.dist-info"}
    assert "warpcert-0.1.0.dist-info/licenses/LICENSE" in names
    assert "warpcert/py.typed" in names
    sources = (
        path.relative_to(ROOT / "src")
        for end in ("py", "toml", "md")
        for path in (ROOT / "src").rglob(f"*.{end}")
    )
    assert {path.as_posix() for path in sources} <= set(names)


def test_the_wheel_holds_every_sample(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.endswith(".npz")}
    samples = (ROOT / "src" / "warpcert" / "data" / "samples").glob("*.npz")
    assert packed
    assert packed == {path.relative_to(ROOT / "src").as_posix() for path in samples}


@pytest.mark.slow
def test_an_installed_wheel_runs_from_elsewhere(wheel: Path, tmp_path: Path) -> None:
    """One test for all commands: the environment takes long to make, and workers share nothing."""
    commands = install(wheel, tmp_path / "environment")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    check_package_is_the_installed_one(commands, elsewhere)
    check_help(commands, elsewhere)
    check_bounds_draws_a_picture(commands, elsewhere)
    check_unreadable_image_is_one_line_and_exit_code_two(commands, elsewhere)


def check_package_is_the_installed_one(commands: Path, cwd: Path) -> None:
    done = call(commands / "python", "-c", "import warpcert; print(warpcert.__file__)", cwd=cwd)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(commands.parent)


def check_help(commands: Path, cwd: Path) -> None:
    done = call(commands / "warpcert", "--help", cwd=cwd)
    assert done.returncode == 0, done.stderr
    assert "bounds" in done.stdout


def check_bounds_draws_a_picture(commands: Path, cwd: Path) -> None:
    options = ["--norm", "2", "--delta", "0.5", "--out", "picture.png"]
    done = call(commands / "warpcert", "bounds", "mnist:0", *options, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (cwd / "picture.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def check_unreadable_image_is_one_line_and_exit_code_two(commands: Path, cwd: Path) -> None:
    options = ["--norm", "2", "--delta", "0.5"]
    done = call(commands / "warpcert", "bounds", "nonsense.png", *options, cwd=cwd)
    assert done.returncode == 2, done.stdout + done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "nonsense.png" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
