"""What tests record, and readers that are not ours: VTK's own, a plain one of .pvd lists."""

import re

import numpy as np
import pytest

from warpsim.record import Body
from warpsim.solvers import Material, ModelBuilder, ShapeConfig, SolverDEM

FLAT = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
REST = (0.0, 0.0, 0.0, 1.0)


def numbered_body(frame, count=300):
    """Balls whose numbers follow from the number of a frame alone."""
    rng = np.random.default_rng(frame)
    points, velocities = rng.random((2, count, 3), np.float32)
    return Body("dust", points, None, np.full(count, 0.01, np.float32), velocities, {"heat": rng.random(count)})


def everything(dtype=None, **options):
    """A model with grains, a sheet, a soft block, a ball and a floor."""
    builder = ModelBuilder(**options)
    builder.add_particles([(0.1 * k, 0.5, 0.0) for k in range(5)], mass=0.1, radius=[0.01, 0.02, 0.03, 0.04, 0.05])
    builder.add_cloth_grid((0, 0.7, 0), FLAT, 0, 3, 2, 0.1, 0.1, 0.01, spring_ke=1e3)
    builder.add_soft_grid((1.0, 0.3, 0), REST, 0, 2, 1, 1, 0.1, 0.1, 0.1, 500.0, youngs_modulus=2e4)
    builder.add_particles([(0.0, 2.0, 0.0)], mass=0.1, radius=0.07)
    builder.add_shape_sphere((0.4, 0.3, 0.3, *REST), 0.3)
    builder.add_ground_plane()
    return builder.finalize(**({} if dtype is None else {"dtype": dtype}))


def grains(count=4):
    """A block of grains falls on a floor, and its solver."""
    builder = ModelBuilder()
    lattice = np.stack(np.meshgrid(*[np.arange(count) * 0.021] * 3, indexing="ij"), -1).reshape(-1, 3)
    builder.add_particles(lattice + np.array([0.0, 0.03, 0.0]), mass=0.01, radius=0.01)
    builder.add_ground_plane(cfg=ShapeConfig(mu=0.3))
    model = builder.finalize()
    return SolverDEM(model, Material(youngs_modulus=1e6), substeps=20), model.state()


def vtk_numpy():
    """VTK's readers and its bridge to NumPy; without them the test skips."""
    pytest.importorskip("vtkmodules", reason="vtk is not installed: pip install vtk")
    from vtkmodules.util import numpy_support  # noqa: PLC0415 - optional
    from vtkmodules.vtkIOXML import vtkXMLPolyDataReader, vtkXMLUnstructuredGridReader  # noqa: PLC0415 - optional

    return {".vtp": vtkXMLPolyDataReader, ".vtu": vtkXMLUnstructuredGridReader}, numpy_support.vtk_to_numpy


def read_vtk(path):
    """A file as VTK reads it: time, points, cells (m, k), arrays of points and of cells."""
    readers, as_numpy = vtk_numpy()
    reader = readers[path.suffix]()
    reader.SetFileName(str(path))
    errors = []
    reader.AddObserver("ErrorEvent", lambda *_: errors.append(path))
    reader.Update()
    assert not errors and reader.GetErrorCode() == 0, path
    data = reader.GetOutput()
    if path.suffix == ".vtu":
        cells = data.GetCells()
        assert {data.GetCellType(k) for k in range(data.GetNumberOfCells())} == {10}, "tetrahedra"
    else:
        cells = data.GetPolys() if data.GetNumberOfPolys() else data.GetVerts()
    corners, ends = as_numpy(cells.GetConnectivityArray()), as_numpy(cells.GetOffsetsArray())
    widths = set(np.diff(ends).tolist()) or {1}
    assert len(widths) == 1
    tables = [
        {part.GetArrayName(k): as_numpy(part.GetArray(k)) for k in range(part.GetNumberOfArrays())}
        for part in (data.GetPointData(), data.GetCellData())
    ]
    points = as_numpy(data.GetPoints().GetData()).reshape(-1, 3)
    time = as_numpy(data.GetFieldData().GetArray("TimeValue"))[0]
    return time, points, corners.reshape(-1, widths.pop()), *tables


def listed(pvd):
    """Times and files of a .pvd."""
    text = pvd.read_text()
    assert text.startswith("<?xml") and text.rstrip().endswith("</VTKFile>")
    rows = re.findall(r'timestep="([^"]+)" part="0" file="([^"]+)"', text)
    return [(float(time), pvd.parent / file) for time, file in rows]
