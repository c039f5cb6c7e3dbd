"""What the commands that need torch alone have in common."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """End with the code for wrong use."""
        self.exit(2, f"{self.prog}: {' '.join(message.split())} (see --help)\n")


def say(line: str) -> None:
    """A line that is there at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
