"""Make the meshes of this folder, from nothing but arithmetic: same numbers on every machine.

`python assets/make_assets.py` rewrites them beside this file, `--folder` somewhere else.
"""

import argparse
from pathlib import Path

import numpy as np

from warpsim.usd import UsdWriter

SHEET_POINTS = 65  # per side; 64 cells


def cloth_sheet(side: int = SHEET_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """A square sheet of 1 m in the plane y = 0: points (side^2, 3) and triangles (m, 3), facing up.

    The diagonals alternate like a chessboard, so that the cloth is as stiff to the left as to the
    right.
    """
    i, j = np.divmod(np.arange(side * side), side)
    points = np.stack([j / (side - 1) - 0.5, np.zeros(side * side), i / (side - 1) - 0.5], axis=1)
    row, column = np.divmod(np.arange((side - 1) ** 2), side - 1)
    a = row * side + column
    b, c, d = a + 1, a + side + 1, a + side
    rising = ((row + column) % 2 == 0)[:, None, None]
    one = np.stack([np.stack([a, d, c], 1), np.stack([a, c, b], 1)], axis=1)
    other = np.stack([np.stack([a, d, b], 1), np.stack([b, d, c], 1)], axis=1)
    triangles = np.where(rising, one, other).reshape(-1, 3)
    return points.astype(np.float32), triangles.astype(np.int32)


def write_assets(folder: Path) -> list[Path]:
    """Write every asset into `folder` and return their paths."""
    target = folder / "cloth_sheet.usda"
    points, triangles = cloth_sheet()
    metadata = {"license": "Apache-2.0", "generator": "assets/make_assets.py"}
    with UsdWriter(target, metadata=metadata) as usd:
        usd.mesh("cloth_sheet", points, triangles, color=(0.6, 0.2, 0.1))
    return [target]


def main(argv: list[str] | None = None) -> list[Path]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parent)
    written = write_assets(parser.parse_args(argv).folder)
    for path in written:
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    return written


if __name__ == "__main__":
    main()
