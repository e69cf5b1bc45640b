"""`python -m warpsim` is the command `warpsim`."""

import sys

from .cli import main

sys.exit(main())
