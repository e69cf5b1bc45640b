"""USD files with random damage give usable data or UsdError, within limits of time and memory, and end no program.

`WARPSIM_USD_MUTATIONS=10000` reads so many files, `_FROM` says with which number they begin; `-s` shows the counts.
"""

import collections
import json
import os
import random
import time
import traceback
from pathlib import Path

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom, UsdUtils
from usd_mutations import mutate
from usd_scenes import everything
from usd_shots import physics, shot

from warpsim.usd import UsdError, UsdWriter, read_mesh, read_scene
from warpsim.viewer import Animation, ViewError, write_page

MORE = int(os.environ.get("WARPSIM_USD_MUTATIONS", "0"))
FIRST = int(os.environ.get("WARPSIM_USD_MUTATIONS_FROM", "0"))
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
LIMITS = {"max_bytes": 64 << 20, "max_seconds": 20.0}
OUTCOMES = ("read", "refused", "ended", "late")
MESHES = {
    "shot": "/World/clothes/dress",
    "own": "/World/cloth",
    "composed": "/made/mesh",
    "scene": "/World/sheet",
    "package": "/World/cloth",
}
LATE = 10.0  # seconds that a busy machine may take beyond the limit


def own(path):
    square = np.float32([[0, 0, 0], [1, 0, 0], [1, 0, -1], [0, 0, -1]])
    with UsdWriter(path, metadata={"seed": 7}) as usd:
        usd.ground()
        for k in range(3):
            usd.frame()
            usd.mesh("cloth", square + k, [[0, 1, 2, 3]], color=np.full((4, 3), 0.2 * k))
            usd.points("grains", np.full((40, 3), k), 0.1, ids=np.arange(40))
            usd.instances("stones", [(square, [[0, 1, 2]], (1, 0, 0))], square, np.tile([0, 0, 0, 1.0], (4, 1)))


def composed(path):
    """One mesh behind a reference, a payload, a class, a variant and an instance."""
    stage = Usd.Stage.CreateNew(str(path))
    mesh = UsdGeom.Mesh.Define(stage, "/made/mesh")
    mesh.CreatePointsAttr([(k % 7, k % 5, k % 3) for k in range(600)])
    mesh.CreateFaceVertexCountsAttr([3] * 200)
    mesh.CreateFaceVertexIndicesAttr(list(range(600)))
    stage.CreateClassPrim("/kind").GetReferences().AddInternalReference("/made")
    root = stage.DefinePrim("/root", "Xform")
    root.GetInherits().AddInherit("/kind")
    root.SetInstanceable(True)
    options = root.GetVariantSets().AddVariantSet("size")
    options.AddVariant("large")
    options.SetVariantSelection("large")
    with options.GetVariantEditContext():
        UsdGeom.Xformable(root).AddScaleOp().Set((2, 2, 2))
    stage.DefinePrim("/other").GetPayloads().AddInternalPayload("/made")
    stage.SetMetadata("customLayerData", {"a": {"b": [1, 2], "c": "text"}})
    stage.Save()


@pytest.fixture(scope="module")
def wholes(tmp_path_factory):
    """Bytes of sound files, by name."""
    folder = tmp_path_factory.mktemp("whole")
    for kind in ("usda", "usdc"):
        own(folder / f"own.{kind}")
        composed(folder / f"composed.{kind}")
        everything(folder / f"scene.{kind}")
        physics(shot(folder / f"shot.{kind}"))
    assert UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(folder / "own.usdc")), str(folder / "package.usdz"))
    files = [*sorted(folder.iterdir()), *sorted(DATA.glob("*.usd"))]
    return {path.name: path.read_bytes() for path in files}


def check_mesh(path, name):
    """Read the mesh that a sound file has."""
    mesh = read_mesh(path, MESHES.get(name.partition(".")[0]), **LIMITS)
    assert np.isfinite(mesh.points).all() and mesh.points.shape[1:] == (3,)
    assert mesh.triangles.shape[1:] == (3,) and len(mesh.triangles)
    assert 0 <= mesh.triangles.min() <= mesh.triangles.max() < len(mesh.points)


def check_page(path, name):
    """Write a page that a browser can read, as it has neither NaN nor infinity."""
    page = write_page(Animation(path, **LIMITS), path.with_suffix(".html"), max_bytes=256 << 20).read_text()
    header = page[page.index('id="header">') + 12 :]
    header = json.loads(header[: header.index("</script>")], parse_constant=pytest.fail)
    assert header["fps"] > 0 and header["frames"] >= 1


def check_scene(path, name):
    """Read all prims that simulations use, with their motion."""
    with read_scene(path, **LIMITS) as scene:
        for prim in [scene[p] for p in scene.paths[:12]]:
            assert np.isfinite(prim.points).all() and prim.points.shape[1:] == (3,)
            for rows in (prim.triangles, prim.tetrahedra, prim.edges):
                assert rows is None or 0 <= rows.min(initial=0) <= rows.max(initial=0) < max(1, len(prim.points))
            for rows in (prim.velocities, prim.radii, prim.uvs):
                assert rows is None or np.isfinite(rows).all()
            assert all(isinstance(v, str | float) for v in prim.physics.values())
            assert np.isfinite(scene.positions(prim.path, 0.3)).all()
            assert np.isfinite(scene.velocities(prim.path, 0.1)).all()
            if prim.motion == "rigid":
                assert np.isfinite(scene.twist(prim.path, 0.1, 0.05)).all()


def outcome(check, path, name):
    """What became of a file: read, or why it was refused, in a word; of what should not be, all that is known."""
    try:
        check(path, name)
    except (UsdError, ViewError) as error:
        text = str(error)
        return "late" if "reading takes more than" in text else "ended" if "ends the process" in text else "refused"
    except Exception:
        return traceback.format_exc(limit=-3)
    return "read"


def test_damaged_files_give_usable_data_or_a_usd_error(wholes, tmp_path):
    counts, slowest, wrong = collections.Counter(), 0.0, []
    names = sorted(wholes)
    for k in range(FIRST, FIRST + (MORE or 4 * len(names))):
        name, rng = names[k % len(names)], random.Random(k)
        path = tmp_path / f"damaged{Path(name).suffix}"
        path.write_bytes(mutate(wholes[name], rng))
        for check in (check_mesh, check_page, check_scene) if not MORE or k % 2 else (check_mesh, check_scene):
            began = time.monotonic()
            found = outcome(check, path, name)
            slowest = max(slowest, took := time.monotonic() - began)
            if found not in OUTCOMES or took > LIMITS["max_seconds"] + LATE:
                wrong.append(f"file {k}, of {name}, {check.__name__}, {took:.0f} s: {found}")
            counts[check.__name__, found if found in OUTCOMES else "wrong"] += 1
    print(f"{dict(counts)}, the slowest took {slowest:.1f} s")
    assert not wrong, "\n".join(wrong)
    assert {found for _, found in counts} >= {"read", "refused"}
