"""The command line: one file per command."""

from warpcert.cli.app import main

__all__ = ["main"]
