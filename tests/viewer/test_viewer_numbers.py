"""Units, rates, transforms and arrays of files that no viewer can show are refused, and never reach a page."""

import json

import pytest

from warpsim.usd import UsdError, UsdWriter, read_mesh
from warpsim.viewer import Animation, ViewError, write_film, write_page

POINTS = "point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]"
MESH = f"{POINTS}\nint[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0, 1, 2]"
SAMPLES = f"point3f[] points.timeSamples = {{ -1e308: {POINTS[19:]}, 1e308: {POINTS[19:]} }}"
BALLS = "float[] widths = [1, 1, 1]\n" + POINTS
COPIES = """rel prototypes = </w/p/cube>
int[] protoIndices = [0, 0, 0]
point3f[] positions = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
quath[] orientations = [(1, 0, 0, 0), (1, 0, 0, 0), (1, 0, 0, 0)]
float3[] scales = [(1, 1, 1), (1, 1, 1), (1, 1, 1)]
def Cube "cube" {
    double size = 1
}"""


def stage(body, kind="Mesh", unit="1", rate="24", up='"Y"', more=""):
    head = f"(\nupAxis = {up}\nmetersPerUnit = {unit}\ntimeCodesPerSecond = {rate}\n{more})\n"
    return f'#usda 1.0\n{head}def Xform "w" {{\ndef {kind} "p" {{\n{body}\n}}\n}}\n'


def matrix(scale):
    return (
        f"matrix4d xformOp:transform = (({scale}, 0, 0, 0), (0, {scale}, 0, 0), (0, 0, {scale}, 0), (0, 0, 0, 1))\n"
        'uniform token[] xformOpOrder = ["xformOp:transform"]\n'
    )


REFUSED = {
    **{f"rate {rate}": stage(MESH, rate=rate) for rate in ("0", "nan", "-24", "inf", "1e300", "1e-300")},
    **{f"unit {unit}": stage(MESH, unit=unit) for unit in ("0", "nan", "-1", "inf", "1e300")},
    **{f"scale {scale}": stage(MESH + "\n" + matrix(scale)) for scale in ("1e308", "nan", "inf", "1e30")},
    "up X": stage(MESH, up='"X"'),
    "points as text": stage(MESH.replace(POINTS, 'string points = "x"')),
    "points as numbers": stage(MESH.replace(POINTS, "float[] points = [1, 2]")),
    "points nan": stage(MESH.replace("(1, 0, 0)", "(nan, 0, 0)")),
    "points far": stage(MESH.replace("(1, 0, 0)", "(1e30, 0, 0)")),
    "colors as text": stage(MESH + '\ntoken[] primvars:displayColor = ["x"]'),
    "widths nan": stage(BALLS.replace("[1, 1, 1]", "[1, nan, 1]"), "Points"),
    "widths far": stage(BALLS.replace("[1, 1, 1]", "[1, 1e30, 1]"), "Points"),
    "widths as text": stage(BALLS.replace("float[] widths = [1, 1, 1]", 'string widths = "x"'), "Points"),
    "scales inf": stage(COPIES.replace("scales = [(1, 1, 1)", "scales = [(inf, 1, 1)"), "PointInstancer"),
    "turns nan": stage(COPIES.replace("= [(1, 0, 0, 0)", "= [(nan, 0, 0, 0)"), "PointInstancer"),
    "turns too few": stage(COPIES.replace("= [(1, 0, 0, 0), ", "= ["), "PointInstancer"),
    "positions too few": stage(COPIES.replace("positions = [(0, 0, 0), ", "positions = ["), "PointInstancer"),
    "no inverse": stage(COPIES + "\n" + matrix(0), "PointInstancer"),
    "size nan": stage(COPIES.replace("size = 1", "size = nan"), "PointInstancer"),
    "size of a ball": stage("double radius = inf", "Sphere"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_shown_is_refused(tmp_path, name):
    path = tmp_path / "a.usda"
    path.write_text(REFUSED[name])
    with pytest.raises(UsdError):
        write_page(Animation(path), tmp_path / "a.html")
    assert not (tmp_path / "a.html").exists()


@pytest.mark.parametrize("name", [name for name in REFUSED if name.split()[0] in ("unit", "points", "up")])
def test_meshes_refuse_the_same(tmp_path, name):
    path = tmp_path / "a.usda"
    path.write_text(REFUSED[name])
    if name in ("up X", "points far"):  # an axis that turns, and points that float32 holds
        path.write_text(REFUSED[name].replace("(1e30, 0, 0)", "(1e39, 0, 0)"))
    with pytest.raises(UsdError):
        read_mesh(path)


@pytest.mark.parametrize(
    "body, kind, more",
    [
        (MESH, "Mesh", ""),
        (BALLS, "Points", ""),
        (COPIES, "PointInstancer", ""),
        (MESH.replace(POINTS, SAMPLES), "Mesh", ""),
        (MESH + "\n" + matrix("1e-30"), "Mesh", ""),
        (MESH, "Mesh", "startTimeCode = 5\nendTimeCode = -5\n"),
        (MESH, "Mesh", "startTimeCode = nan\nendTimeCode = 1e308\n"),
    ],
)
def test_a_page_of_what_is_shown_is_sound(tmp_path, body, kind, more):
    path = tmp_path / "a.usda"
    path.write_text(stage(body, kind, more=more))
    page = write_page(Animation(path), tmp_path / "a.html").read_text()
    header = page[page.index('id="header">') + 12 :]
    header = json.loads(header[: header.index("</script>")], parse_constant=pytest.fail)
    assert header["fps"] == 24.0 and header["frames"] >= 1 and len(header["bodies"]) == 1


@pytest.mark.parametrize(
    "options, told",
    [
        ({"fps": 1e30}, "fps is 1e\\+30\nexpected: 0.001 to 1000"),
        ({"fps": 0}, "fps is 0\nexpected"),
        ({"fps": float("nan")}, "fps is nan\nexpected"),
        ({"fps": 1000.0, "size": (2000, 2000)}, r"has 10000 images of 2000 x 2000, expected at most 1000\nhelp: fewer"),
    ],
)
def test_films_that_would_never_end(tmp_path, options, told):
    with UsdWriter(tmp_path / "long.usdc", fps=1.0) as usd:
        for k in range(10):
            usd.frame()
            usd.points("p", [[k, 0, 0]], 0.1)
    with pytest.raises(ViewError, match=told):
        write_film(Animation(tmp_path / "long.usdc"), tmp_path / "a.webp", **options)
    assert not (tmp_path / "a.webp").exists()
