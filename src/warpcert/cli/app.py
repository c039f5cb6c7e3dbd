"""`main`: one command line in, one exit code out.

0: it ran. 2: wrong use or unreadable input, told in one line. 1: a defect, whose traceback is kept.
130 and 141: interrupted, and nobody reads the output any more, as the shell has it.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.main import get_command

from warpcert.cli.attack import ATTACK_EXAMPLES, attack
from warpcert.cli.bounds import BOUNDS_EXAMPLES, bounds
from warpcert.cli.certify import CERTIFY_EXAMPLES, certify
from warpcert.cli.data import data
from warpcert.cli.demo import demo
from warpcert.cli.merge import MERGE_EXAMPLES, merge
from warpcert.cli.nets import nets
from warpcert.cli.refusal import Refusal
from warpcert.cli.reproduce import REPRODUCE_EXAMPLES, reproduce
from warpcert.cli.results import REPORT_EXAMPLES, report
from warpcert.cli.screen import print_line, printable
from warpcert.cli.train import TRAIN_EXAMPLES, train

EXAMPLES = """\b
Examples:
  warpcert demo
  warpcert certify mnist-convsmall-ibp --images mnist:0-4 --delta 0.3
  warpcert bounds mnist:0-3 --norm 2 --delta 0.5 --out bounds.png
  warpcert data
"""

# typer brings its own copy of click in some versions, and uses click itself in others.
UsageError: type[Any] = typer.BadParameter.__mro__[1]

app = typer.Typer(add_completion=False, rich_markup_mode=None)
app.command(epilog=ATTACK_EXAMPLES)(attack)
app.command(epilog=BOUNDS_EXAMPLES)(bounds)
app.command(epilog=CERTIFY_EXAMPLES)(certify)
app.add_typer(data)
app.command()(demo)
app.command(epilog=MERGE_EXAMPLES)(merge)
app.command()(nets)
app.command(epilog=REPORT_EXAMPLES)(report)
app.command(epilog=REPRODUCE_EXAMPLES)(reproduce)
app.command(epilog=TRAIN_EXAMPLES)(train)


def _show_version(wanted: bool) -> bool:
    if wanted:
        from warpcert import __version__

        print_line(f"warpcert {__version__}")
        raise typer.Exit
    return wanted


VersionOption = Annotated[
    bool,
    typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
]


@app.callback(epilog=EXAMPLES)
def warpcert(_version: VersionOption = False) -> None:
    """Prove that an image classifier cannot be fooled by bending the image."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; a defect is raised.

    Threads that have nothing to do shall sleep, unless the user wants them otherwise: where others
    use the cores, too, those that wait by turning round hold up the one that they wait for.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # torch reads it when it is loaded
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a file may have any name
    try:
        return _run(list(sys.argv[1:] if argv is None else argv) or ["--help"])
    except Refusal as refusal:
        return _complain(str(refusal), 2)
    except UsageError as error:
        return _complain(_usage(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", 130)
    except BrokenPipeError:
        _drop_output()
        return 141
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _drop_output()
        return _complain("cannot write the output, the disk is full: send it elsewhere", 2)


def _run(argv: list[str]) -> int:
    """Run a command; errors of use are raised, which typer's own main would print in a box."""
    command = get_command(app)
    try:
        with command.make_context("warpcert", argv) as context:
            command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    return 0


def _usage(error: Any) -> str:
    """What is wrong with the command line, and where help is."""
    what = str(error.format_message()).replace("Value error, ", "").strip().rstrip(".")
    path = error.ctx.command_path if error.ctx else "warpcert"
    return f"{what[:1].lower()}{what[1:]} (see '{path} --help')"


def _complain(line: str, code: int) -> int:
    """Print one line on standard error, whatever the message holds."""
    print(f"warpcert: {printable(line)}", file=sys.stderr)
    return code


def _drop_output() -> None:
    """Let the interpreter's last flush go nowhere instead of failing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
