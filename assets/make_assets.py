"""Make the meshes of this folder, from nothing but arithmetic: same numbers on every machine.

`python assets/make_assets.py` rewrites them beside this file, `--folder` somewhere else.
"""

import argparse
from pathlib import Path

import numpy as np

import warpsim as wp
from warpsim.geometry.marching_cubes.marching_cubes import MarchingCubes
from warpsim.usd import UsdWriter

SHEET_POINTS = 65  # per side; 64 cells
RING_CELL = 0.02  # [m]


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


def ring() -> tuple[np.ndarray, np.ndarray]:
    """A ring of 0.5 m that stands on a foot on the plane y = 0: points (n, 3) and triangles (m, 3), facing outwards.

    The surface of two distances that blend into each other (the quadratic smooth minimum), by marching cubes. Only
    operations that round alike everywhere are used, and points are rounded to a tenth of a millimetre.
    """
    low, high = np.array([-0.31, -0.03, -0.23]), np.array([0.31, 0.63, 0.23])
    counts = np.round((high - low) / RING_CELL).astype(int) + 1
    x, y, z = np.meshgrid(*[a + RING_CELL * np.arange(n) for a, n in zip(low, counts, strict=True)], indexing="ij")
    around = np.sqrt(x * x + (y - 0.34) * (y - 0.34)) - 0.2
    torus = np.sqrt(around * around + z * z) - 0.065
    foot = np.sqrt(x * x + 9.0 * (y - 0.07) * (y - 0.07) + z * z) - 0.19
    blend = np.maximum(0.1 - np.abs(torus - foot), 0.0)
    field = np.minimum(torus, foot) - 2.5 * blend * blend
    verts, indices = MarchingCubes.extract(wp.array(field, dtype=float, device="cpu"), lower=low, upper=high)
    return np.round(verts.numpy(), 4) + np.float32(0.0), indices.numpy().reshape(-1, 3)


ASSETS = {"cloth_sheet": (cloth_sheet, (0.6, 0.2, 0.1)), "ring": (ring, (0.30, 0.33, 0.38))}


def write_assets(folder: Path) -> list[Path]:
    """Write every asset into `folder` and return their paths."""
    targets = []
    metadata = {"license": "Apache-2.0", "generator": "assets/make_assets.py"}
    for name, (make, color) in ASSETS.items():
        targets.append(folder / f"{name}.usda")
        with UsdWriter(targets[-1], metadata=metadata) as usd:
            usd.mesh(name, *make(), color=color)
    return targets


def main(argv: list[str] | None = None) -> list[Path]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parent)
    written = write_assets(parser.parse_args(argv).folder)
    for path in written:
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    return written


if __name__ == "__main__":
    main()
