"""Whether this machine can compile native text: tests that need it are marked with `compiled`."""

import pytest

from warpsim.core.emit.native import toolchain
from warpsim.errors import NoCompilerError

try:
    toolchain.find()
    MISSING = ""
except NoCompilerError as error:
    MISSING = str(error)
compiled = pytest.mark.skipif(bool(MISSING), reason=f"this machine has no C++ compiler: {MISSING}")
