"""Tables of statistics: numbers come back exactly from CSV and HDF5; columns stay what they were; nothing is half."""

import csv
import errno
import os

import numpy as np
import pytest
from recordings import everything, grains

import warpsim as wp
from warpsim.errors import MissingPackageError
from warpsim.record import CsvTable, Hdf5Table, Recorder, RecordError, RecordFileError
from warpsim.solvers import SolverXPBD
from warpsim.solvers.ocean import JONSWAP

HARD = [0.1, 1 / 3, 1e-300, -0.0, 1.7976931348623157e308, 5e-324, float("inf"), float("nan")]


def read_csv(path):
    with open(path, newline="") as file:
        head, *rows = csv.reader(file)
    return head, rows


def bits(x):
    return np.float64(x).tobytes()


def test_csv_gives_back_every_bit(tmp_path):
    with Recorder(tmp_path, [CsvTable()]) as record:
        for k, x in enumerate(HARD):
            record.frame(None, k / 3, numbers={"x": x, "n": k, "ok": k > 2, 'a, "b"': None, "v": wp.vec3(1, 2, k)})
    head, rows = read_csv(tmp_path / "statistics.csv")
    assert head == ["frame", "time", "x", "n", "ok", 'a, "b"', "v_x", "v_y", "v_z"]
    assert [bits(float(row[2])) for row in rows] == [bits(x) for x in HARD]
    assert [float(row[1]) for row in rows] == [k / 3 for k in range(len(HARD))]
    assert [(row[0], row[3], row[4], row[5], row[8]) for row in rows] == [
        (str(k), str(k), str(int(k > 2)), "", f"{float(k)}") for k in range(len(HARD))
    ]


def test_hdf5_gives_back_every_bit_in_every_frame(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed: pip install h5py")
    with Recorder(tmp_path, [Hdf5Table()]) as record:
        for k in range(40):
            x = HARD[k % len(HARD)]
            record.frame(None, k / 3, numbers={"x": x, "missing": None, "m": {"a": np.float32(k), "b": [1, k]}})
            with h5py.File(tmp_path / "statistics.h5") as file:
                table = file["statistics"][:]
            assert len(table) == k + 1 and table["frame"].tolist() == list(range(k + 1)), "not whole between frames"
    assert table.dtype.names == ("frame", "time", "x", "missing", "m.a", "m.b_0", "m.b_1")
    assert table["x"].tobytes() == np.resize(HARD, 40).tobytes() and np.isnan(table["missing"]).all()
    assert (table["m.b_1"] == np.arange(40)).all() and (table["time"] == np.arange(40) / 3).all()


def test_hdf5_without_its_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'warpsim\[hdf5\]', or use CsvTable"):
        Hdf5Table()


def test_statistics_of_solvers_are_rows(tmp_path):
    solver, state = grains()
    model = everything()
    cloth, its_state = SolverXPBD(model, 4), model.state()
    with Recorder(tmp_path, [CsvTable()]) as record:
        for frame in range(3):
            solver.step(state, state, dt=0.01)
            about = {
                "grains": solver.statistics(state),
                "cloth": cloth.statistics(its_state),
                "sea": JONSWAP(8.0, 1e4).statistics() if hasattr(JONSWAP(8.0, 1e4), "statistics") else {"none": 0},
            }
            record.frame(None, frame, numbers={**about, "momentum": about["grains"].momentum})
    head, rows = read_csv(tmp_path / "statistics.csv")
    last = dict(zip(head, map(float, rows[-1]), strict=True))
    statistics = solver.statistics(state)
    for name in ("mass", "kinetic_energy", "rotational_energy", "contacts", "coordination_number", "largest_overlap"):
        assert last[f"grains.{name}"] == getattr(statistics, name), name
    assert last["grains.diverged"] == 0 and last["momentum_y"] == statistics.momentum[1] != 0.0
    assert last["cloth.max_strain"] == cloth.statistics(its_state).max_strain
    assert not [name for name in head if "model" in name or "state" in name]


@pytest.mark.parametrize("table", [CsvTable, Hdf5Table])
def test_columns_stay_what_they_were(tmp_path, table):
    if table is Hdf5Table:
        pytest.importorskip("h5py", reason="h5py is not installed: pip install h5py")
    record = Recorder(tmp_path, [table()])
    record.frame(None, 0.0, numbers={"a": 1.0, "b": 2.0})
    with pytest.raises(RecordError, match=r"numbers of frame 1 are b, c\nexpected: a, b, as in .*differ in a, c"):
        record.frame(None, 1.0, numbers={"b": 1.0, "c": 2.0})
    with pytest.raises(RecordError, match="has stopped at frame 1\nhelp: open a new Recorder"):
        record.frame(None, 1.0, numbers={"a": 1.0, "b": 2.0})
    record.close()
    with Recorder(tmp_path, [table()], first_frame=1) as record:
        record.frame(None, 1.0, numbers={"b": 4.0, "a": 3.0})
    if table is CsvTable:
        assert read_csv(tmp_path / "statistics.csv")[1] == [["0", "0.0", "1.0", "2.0"], ["1", "1.0", "3.0", "4.0"]]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"a": "text"}, r"a is 'text'\nexpected: numbers by name"),
        ({"a": np.zeros(17)}, r"a has shape \(17,\)\nexpected: a number, or a vector of up to 16"),
        ({"a": np.zeros((2, 2))}, r"a has shape \(2, 2\)"),
        ({"a": 1j}, "a is 1j"),
        (3.0, r"numbers is 3.0\nexpected: numbers by name, or an object"),
        ({"frame": 1}, "two columns 'frame'"),
        ({"a_x": 1, "a": [1, 2, 3]}, "two columns 'a_x'"),
    ],
)
def test_what_is_no_row(tmp_path, numbers, message):
    with Recorder(tmp_path, [CsvTable()]) as record, pytest.raises(RecordError, match=message):
        record.frame(None, 0.0, numbers=numbers)


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_closed_pipe_is_called_so(tmp_path):
    os.mkfifo(tmp_path / "statistics.csv")
    reader = os.open(tmp_path / "statistics.csv", os.O_RDONLY | os.O_NONBLOCK)
    record = Recorder(tmp_path, [CsvTable()])
    record.frame(None, 0.0, numbers={"a": 1})
    assert os.read(reader, 100) == b"frame,time,a\n0,0.0,1\n"
    os.close(reader)
    with pytest.raises(RecordFileError, match=r"cannot take frame 1: .*Broken pipe\nframes up to 0") as caught:
        record.frame(None, 1.0, numbers={"a": 1})
    assert caught.value.errno == errno.EPIPE and isinstance(caught.value, OSError)
    record.close()


def test_a_line_that_was_cut_is_written_anew(tmp_path):
    with Recorder(tmp_path, [CsvTable()]) as record:
        for k in range(3):
            record.frame(None, k, numbers={"x": 0.123456789 + k})
    path = tmp_path / "statistics.csv"
    whole = path.read_bytes()
    path.write_bytes(whole + b"3,3.0,0.1234")
    with Recorder(tmp_path, [CsvTable()], first_frame=3) as record:
        record.frame(None, 3, numbers={"x": 5.0})
    assert path.read_bytes() == whole + b"3,3.0,5.0\n"


def test_going_on_needs_a_table_without_a_gap(tmp_path):
    with Recorder(tmp_path, [CsvTable()]) as record:
        record.frame(None, 0.0, numbers={"x": 1})
    with pytest.raises(RecordError, match=r"ends before frame 1, and first_frame is 3\nexpected: no gap\nhelp: go"):
        Recorder(tmp_path, [CsvTable()], first_frame=3)
    (tmp_path / "statistics.csv").write_text("x,y\n1,2\n")
    with pytest.raises(RecordError, match=r"begins with 'x,y\\n'\nexpected: frame,time"):
        Recorder(tmp_path, [CsvTable()], first_frame=1)
