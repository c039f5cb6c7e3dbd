"""`python -m warpcert` is the command line."""

import sys

from warpcert.cli import main

sys.exit(main())
