"""Start a module of this package by the path of this file: ``python benchmarks/boot.py worker``.

Guarantees that the package is called ``benchmarks`` whatever its folder is called (an installed
warpsim carries it under another name), and that nothing beside it becomes importable: a peer's
process sees neither the folder nor, unless that is the framework being timed, warpsim.
"""

import importlib.util
import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def register() -> None:
    """Make this folder importable as ``benchmarks``."""
    spec = importlib.util.spec_from_file_location(
        "benchmarks", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)])
    package = importlib.util.module_from_spec(spec)
    sys.modules["benchmarks"] = package
    spec.loader.exec_module(package)


def main() -> None:
    """Run the module named by the first argument with the arguments that follow."""
    # Python put the folder of this script first on the path
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != FOLDER]
    register()
    name = sys.argv.pop(1)
    runpy.run_module(name if "." in name else f"benchmarks.{name}", run_name="__main__",
                     alter_sys=True)


if __name__ == "__main__":
    main()
