"""Files that ask for more memory than they are allowed, and files whose tables are damaged."""

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom, UsdUtils, Vt

from warpsim.usd import UsdError, UsdWriter, read_mesh
from warpsim.usd.crate import check_file, decompress
from warpsim.usd.meshes import find_mesh
from warpsim.usd.stage_file import open_stage

LONG = 3_000_000


def author(path, corners, moments=(None,)):
    """A mesh of triangles that all have the corner 0: nothing compresses better."""
    stage = Usd.Stage.CreateNew(str(path))
    mesh = UsdGeom.Mesh.Define(stage, "/mesh")
    stage.SetDefaultPrim(mesh.GetPrim())
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    for t in moments:
        moment = Usd.TimeCode.Default() if t is None else t
        indices = np.zeros(corners, np.int32)
        mesh.CreateFaceVertexCountsAttr().Set(Vt.IntArray.FromNumpy(np.full(corners // 3, 3, np.int32)), moment)
        mesh.CreateFaceVertexIndicesAttr().Set(Vt.IntArray.FromNumpy(indices), moment)
    stage.GetRootLayer().Save()
    return path


@pytest.mark.parametrize("moments", [(None,), (1.0, 2.0)], ids=("once", "samples"))
def test_a_small_file_with_a_long_array_is_refused(tmp_path, moments):
    path = author(tmp_path / "long.usdc", LONG, moments)
    assert path.stat().st_size < LONG // 300
    with pytest.raises(UsdError, match=f"an array of {LONG} numbers takes 23 MiB.*pass a larger max_bytes"):
        read_mesh(path, max_bytes=8 * LONG - 1)
    assert read_mesh(path, max_bytes=8 * LONG).triangles.shape == (LONG // 3, 3)


def test_arrays_in_packages_and_referenced_layers_count(tmp_path):
    inner, package = author(tmp_path / "long.usdc", 30_000), tmp_path / "long.usdz"
    assert UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(inner)), str(package))
    outer = tmp_path / "outer.usda"
    outer.write_text('#usda 1.0\ndef "a" ( references = @./long.usdc@ ) { }\n')
    for path in (package, outer):
        assert len(read_mesh(path).triangles) == 10_000
        with pytest.raises(UsdError, match="an array of 30000 numbers"):
            read_mesh(path, max_bytes=100_000)


def test_tables_count(tmp_path):
    stage = Usd.Stage.CreateNew(str(tmp_path / "many.usdc"))
    for k in range(300):
        stage.DefinePrim(f"/prim{k}")
    stage.GetRootLayer().Save()
    with pytest.raises(UsdError, match=r"the table \w+ takes"):
        check_file(str(tmp_path / "many.usdc"), 40_000 - 10_000)
    check_file(str(tmp_path / "many.usdc"), 1 << 20)


def test_files_cut_off_anywhere_are_refused(tmp_path):
    whole = author(tmp_path / "whole.usdc", 300).read_bytes()
    for size in [*range(8, 120, 7), *range(len(whole) - 300, len(whole), 11)]:
        path = tmp_path / f"cut{size}.usdc"
        path.write_bytes(whole[:size])
        with pytest.raises(UsdError, match="damaged"):
            read_mesh(path)


@pytest.mark.parametrize("name", ["x.usd", "x.usda", "x.usdc", "x.usdz"])
@pytest.mark.parametrize("content", [b"", b"PXR-USDC", b"#usda 1.0\n(", b"PK\x03\x04", b"\xff" * 300, b"v 0 0 0\n"])
def test_files_that_hold_something_else(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsdError):
        read_mesh(tmp_path / name)


@pytest.mark.parametrize(
    "attribute",
    [
        'token[] points = ["a"]',
        'string faceVertexCounts = "x"',
        'token[] faceVertexIndices = ["\xff"]',
        'uniform token[] xformOpOrder = ["xformOp:nonsense"]',
    ],
)
def test_attributes_of_another_type(tmp_path, attribute):
    lines = ["point3f[] points = [(0,0,0), (1,0,0), (0,1,0)]", "int[] faceVertexCounts = [3]"]
    lines.append("int[] faceVertexIndices = [0, 1, 2]")
    name = attribute.split(" = ")[0].split()[-1]
    body = "\n".join([attribute, *(line for line in lines if name not in line)])
    path = tmp_path / "odd.usda"
    path.write_bytes(f'#usda 1.0\ndef Mesh "m" {{\n{body}\n}}\n'.encode("latin-1"))
    with pytest.raises(UsdError):
        read_mesh(path)


def test_a_search_through_very_many_instances_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("warpsim.usd.stage_file.MOST_PRIMS", 1000)
    text = ['#usda 1.0\ndef Mesh "L0" { }\n']
    for d in range(1, 5):
        prims = "\n".join(f'def "c{i}" (\ninstanceable = true\nreferences = </L{d - 1}>\n) {{ }}' for i in range(9))
        text.append(f'def Xform "L{d}" {{\n{prims}\n}}\n')
    (tmp_path / "nested.usda").write_text("".join(text))
    name = str(tmp_path / "nested.usda")
    with pytest.raises(UsdError, match="more than 1000 prims"):  # here, where the limit is another one
        find_mesh(open_stage(name, 1 << 20), name, None, None, "Y", None)


def test_what_pxr_refuses_to_write_is_a_usd_error(tmp_path):
    with pytest.raises(UsdError, match="cannot be written"):
        UsdWriter(tmp_path / "a.usdc", metadata={"note": "\ud800"})
    assert list(tmp_path.iterdir()) == []


# ----- the blocks of compressed tables ----------------------------------------------------------


def block(*sequences):
    """LZ4: (literals, distance, length of the copy), the last without a copy."""
    out = bytearray()
    for literals, back, count in sequences:
        extra = [len(literals), count - 4 if back else 0]
        out.append(min(extra[0], 15) << 4 | min(extra[1], 15))
        out += long_part(extra[0]) + literals
        if back:
            out += back.to_bytes(2, "little") + long_part(extra[1])
    return bytes(out)


def long_part(n):
    return b"" if n < 15 else b"\xff" * ((n - 15) // 255) + bytes([(n - 15) % 255])


def test_blocks_are_unpacked():
    rng = np.random.default_rng(0)
    for _ in range(200):
        sequences, plain = [], bytearray()
        for _ in range(rng.integers(1, 6)):
            literals = rng.bytes(int(rng.choice([1, 3, 14, 15, 16, 270, 700])))
            plain += literals
            back, count = int(rng.integers(1, min(len(plain), 65535) + 1)), int(rng.choice([4, 18, 19, 20, 274, 1000]))
            for _ in range(count):
                plain.append(plain[-back])
            sequences.append((literals, back, count))
        plain += b"end"
        packed = block(*sequences, (b"end", 0, 0))
        assert decompress(b"\0" + packed, len(plain)) == plain
        two = bytes([2]) + 2 * (len(packed).to_bytes(4, "little") + packed)
        assert decompress(two, 2 * len(plain)) == 2 * plain


@pytest.mark.parametrize(
    "packed",
    [
        block((b"ab", 3, 9), (b"", 0, 0)),
        block((b"ab", 1, 4000), (b"", 0, 0)),
        block((b"abc", 0, 0))[:-1],
        b"\x1fa\x01\x00",
        b"\xf0\xff\xff",
        b"\x02\x00",
    ],
)
def test_blocks_that_are_damaged(packed):
    with pytest.raises((ValueError, IndexError)):
        decompress(b"\0" + packed, 100)
