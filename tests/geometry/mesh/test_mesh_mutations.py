"""Files that trimesh reads, with random damage: an error that is documented, or a mesh, in little memory.

The damage is done, and read, in a process of its own: what would end it, or fill it, fails here.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import trimesh

CHILD = '''
import random, resource, sys, warnings
from pathlib import Path
import numpy as np
import warpsim as wp
from warpsim.errors import WarpsimError

folder, count, kinds = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
warnings.simplefilter("ignore")
NUMBERS = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 10**9, 2**48 - 1]


def damaged(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        n = len(data)
        part = rng.choice([range(n), range(min(n, 300)), range(max(0, n - 900), n)])
        at, what = rng.choice(part), rng.randrange(6)
        if what == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            data[at] = rng.choice(b"\\0\\xff\\x7f\\x80\\x019-")
        elif what == 2:
            data[at : at + 8] = rng.choice(NUMBERS).to_bytes(8, "little")[: rng.choice([2, 4, 8])]
        elif what == 3:
            del data[max(at, 1) :]
        elif what == 4:
            del data[at : at + rng.randrange(1, 60)]
            data += b" " * (not data)
        else:
            data[at:at] = rng.choice([b"99999999999", b"nan", b"-1", b"1e999", b"(", b"}", bytes(64)])
    return bytes(data)


for kind in kinds:
    whole, path = (folder / f"whole.{kind}").read_bytes(), folder / f"damaged.{kind}"
    wp.load_mesh(folder / f"whole.{kind}")
    before, refused = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0
    for k in range(count):
        path.write_bytes(damaged(whole, random.Random(k)))
        try:
            wp.load_mesh(path)
        except (WarpsimError, FileNotFoundError):
            refused += 1
    taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    print(kind, refused, taken)
'''

COUNT = 60


def author(folder: Path, kind: str) -> None:
    path = str(folder / f"whole.{kind}")
    ball = trimesh.creation.icosphere(subdivisions=1)
    if kind == "gltf":
        for name, data in trimesh.exchange.gltf.export_gltf(ball).items():
            (folder / name.replace("model", "whole")).write_bytes(data)
    else:
        ball.export(path)


@pytest.mark.parametrize("kinds", ["obj ply stl", "off glb gltf"])
def test_damaged_files_are_refused_or_read(tmp_path, kinds):
    for kind in kinds.split():
        author(tmp_path, kind)
    command = [sys.executable, "-c", CHILD, str(tmp_path), str(COUNT), *kinds.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == kinds.split()
    for kind, refused, taken in rows:
        assert COUNT // 10 < int(refused) <= COUNT and int(taken) < 400, f"{kind}: {taken} MiB"
