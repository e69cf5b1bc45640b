"""The surface of an ocean: fast validation cases, cells, tiles, threads, damping, foam, files, and what it refuses."""

import numpy as np
import OpenEXR
import pytest
from PIL import Image

import warpsim as wp
from warpsim.core.runtime.launches.pool import get_pool
from warpsim.errors import ArgumentTypeError, ArrayError, WarpsimError
from warpsim.solvers import validate
from warpsim.solvers.ocean import JONSWAP, Foam, Ocean, ResolutionWarning, Sea, SeaState, write_maps

SEA = {"wind_speed": 10.0, "fetch": 1e5}


@pytest.mark.every_case
@pytest.mark.parametrize("name", [c.name for c in validate.choose_cases(["ocean"]) if c.tier == validate.FAST])
def test_fast_cases_pass(name):
    result = validate.run([name])[0]
    assert result.passed, "\n".join(str(m) for m in result.measurements if not m.passed)


def make(size=400.0, cells=32, seas=None, **options):
    return Ocean(JONSWAP(**SEA) if seas is None else seas, size, cells, **{"dtype": wp.float64, **options})


def test_more_cells_keep_the_big_waves():
    """Amplitudes follow from the wavenumber: what both grids resolve is the same."""
    coarse, fine = (make(cells=n, shortest=400.0 / 12.0).evaluate(3.0).height.numpy() for n in (32, 96))
    np.testing.assert_allclose(fine[::3, ::3], coarse, atol=1e-12)


def test_seeds_are_different_seas():
    a, b, c = (make(seed=s).evaluate(0.0).height.numpy() for s in (1, 2, 1))
    assert np.array_equal(a, c) and abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.3


@pytest.mark.parametrize("cells", [64, 45])
def test_bits_do_not_depend_on_threads(cells):
    before, results = get_pool().threads, []
    try:
        for threads in (1, 2, 5):
            wp.set_num_threads(threads)
            field = Ocean(JONSWAP(**SEA), 300.0, cells).evaluate(1.0, velocity=True)
            results.append([a.numpy().tobytes() for a in (field.height, field.normals, field.velocity, field.stretch)])
    finally:
        wp.set_num_threads(before)
    assert results[1:] == results[:-1]


def test_the_interpreter_agrees():
    here, there = (make(100.0, 8, device=d).evaluate(0.5, velocity=True) for d in ("cpu", "interp"))
    for name in ("height", "displacement", "normals", "jacobian", "stretch", "velocity"):
        one, other = (getattr(field, name).numpy() for field in (here, there))
        np.testing.assert_allclose(one, other, atol=1e-6)  # noise is float32


def test_velocity_is_the_rate_of_the_surface():
    ocean, h = make(trough_damping=0.7, size=(400.0, 100.0)), 1e-5
    now = ocean.evaluate(2.0, velocity=True).velocity.numpy()
    ends = [ocean.evaluate(2.0 + e).points().numpy() for e in (h, -h)]
    np.testing.assert_allclose(now, (ends[0] - ends[1]) / (2.0 * h), atol=1e-6)


def test_a_field_is_overwritten_where_it_is_given():
    ocean = make()
    field = ocean.evaluate(0.0, velocity=True)
    address = field.height.ptr
    again = ocean.evaluate(1.0, velocity=True, out=field)
    assert again is field and field.height.ptr == address and field.time == 1.0
    np.testing.assert_array_equal(field.height.numpy(), make().evaluate(1.0).height.numpy())


def test_a_field_that_does_not_fit_is_refused():
    ocean = make()
    with pytest.raises(ArrayError, match="out was made without velocity"):
        ocean.evaluate(0.0, velocity=True, out=ocean.evaluate(0.0))
    with pytest.raises(ArrayError, match=r"out has planes of .* \(4, 1, 16, 16\).*\nexpected: .* \(4, 1, 32, 32\)"):
        ocean.evaluate(0.0, out=make(cells=16).evaluate(0.0))
    with pytest.raises(ArrayError, match="time is nan\nexpected: a finite number"):
        ocean.evaluate(np.nan)


def test_seas_add_up_their_variance():
    wind, swell = Sea(JONSWAP(**SEA)), Sea(SeaState(1.0, 9.0), direction=2.0)
    each = [make(seas=[s]).variances()[0] for s in (wind, swell)]
    assert make(seas=[wind, swell]).variances()[0] == pytest.approx(sum(each))


# ----- tiles ----------------------------------------------------------------------------------------


def test_tiles_have_disjoint_bands():
    """Four times as many cells on one tile hold the waves of two; energies agree where bands meet."""
    one = make(cells=256, shortest=100.0 / 16.0)
    two = make(size=(400.0, 100.0), cells=64, shortest=100.0 / 16.0)
    assert two.bands[0][1] == two.bands[1][0]
    assert two.significant_height == pytest.approx(one.significant_height, rel=1e-2)
    assert (two.variances() > 0.0).all()


def test_a_tile_repeats_itself():
    ocean = make(size=(400.0, 100.0), cells=64)
    height = ocean.evaluate(1.0).height.numpy()
    ocean.noise.assign(ocean.noise.numpy() * np.array([0.0, 1.0])[:, None, None, None])
    ocean.update()
    short = ocean.evaluate(1.0).height.numpy()
    np.testing.assert_allclose(short, np.roll(short, (16, 32), (0, 1)), atol=1e-12)
    assert short.std() > 0.01 * height.std()


def test_trough_damping_spares_crests():
    plain, damped = (make(size=(400.0, 100.0), cells=64, trough_damping=d) for d in (0.0, 1.0))
    before, after = plain.evaluate(0.0), damped.evaluate(0.0)
    long = make(size=(400.0, 100.0), cells=64)
    long.noise.assign(long.noise.numpy() * np.array([1.0, 0.0])[:, None, None, None])
    long.update()
    low = long.evaluate(0.0).height.numpy()
    change = after.height.numpy() - before.height.numpy()
    assert np.abs(change[low > 0.0]).max() < 1e-12
    deep = low < -damped.trough_scale
    np.testing.assert_allclose(after.height.numpy()[deep], low[deep], atol=1e-12)


def test_normals_of_a_damped_surface_are_its_own():
    """Slopes against differences along a finer grid of the same sea."""
    ocean = make(size=(64.0, 16.0), cells=256, trough_damping=1.0, shortest=4.0, seas=SeaState(0.3, 2.0))
    field = ocean.evaluate(0.0)
    points, normals = field.points().numpy(), field.normals.numpy()
    sides = [(np.roll(points, -1, a) - np.roll(points, 1, a))[1:-1, 1:-1] for a in (0, 1)]
    crossed = np.cross(*sides)
    crossed /= np.linalg.norm(crossed, axis=-1, keepdims=True)
    assert np.abs(crossed - normals[1:-1, 1:-1]).max() < 0.03


# ----- foam and files -------------------------------------------------------------------------------


def test_foam_appears_where_crests_fold_and_fades():
    ocean = make(cells=64, choppiness=4.0)
    field, foam = ocean.evaluate(0.0), Foam(lifetime=2.0)
    first = foam.step(field, 0.1).numpy().copy()
    stretch = field.stretch.numpy()
    assert (first[stretch > 0.55] == 0.0).all() and (first[stretch < 0.2] == 1.0).all() and first.max() > 0.5
    field.stretch.fill_(1.0)
    np.testing.assert_allclose(foam.step(field, 1.0).numpy(), first * np.exp(-0.5), rtol=1e-12)
    with pytest.raises(ArrayError, match="expected: a finite threshold, and the others above zero"):
        Foam(lifetime=0.0)


def test_maps_come_back_from_files(tmp_path):
    field = make().evaluate(0.0)
    foam = Foam().step(field, 0.1)
    values = np.load(write_maps(tmp_path / "sea.npy", field, foam))
    assert values.shape == (32, 32, 4) and values.dtype == np.float32
    np.testing.assert_array_equal(values[..., 2], field.height.numpy().astype(np.float32))
    with OpenEXR.File(str(write_maps(tmp_path / "sea.exr", field, foam))) as image:
        np.testing.assert_array_equal(image.channels()["RGBA"].pixels, values)
    with Image.open(write_maps(tmp_path / "sea.png", field)) as image:
        low, high = map(float, image.text["range"].split())
        grey = np.asarray(image).astype(float)
    np.testing.assert_allclose(low + grey / 65535.0 * (high - low), values[..., 2], atol=(high - low) / 65535.0)
    with pytest.raises(WarpsimError, match=r"ends in '\.tif'\nexpected: one of \.npy, \.exr, \.png"):
        write_maps(tmp_path / "sea.tif", field)


# ----- refusals -------------------------------------------------------------------------------------


def test_a_grid_that_misses_the_peak_is_warned_of():
    for size, cells in ((20.0, 32), (4000.0, 32)):
        with pytest.warns(ResolutionWarning, match=r"waves of 57.08 m; 32 cells on .* hold waves of"):
            Ocean(JONSWAP(**SEA), size, cells)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"size": 0.0}, ArrayError, "size is 0.0\nexpected: lengths above zero"),
        ({"size": (100.0, 30.0)}, ArrayError, "a tile of 30 m does not divide 100 m"),
        ({"size": (100.0, 1.0)}, ArrayError, "leave a gap between their bands"),
        ({"cells": 2}, ArrayError, "cells is 2\nexpected: a whole number, 4 to 4096"),
        ({"cells": 64.0}, ArrayError, "cells is 64.0\nexpected: a whole number"),
        ({"seas": []}, ArrayError, "no seas\nexpected: a spectrum"),
        ({"trough_scale": -1.0}, ArrayError, "trough_scale is -1.0\nexpected: above zero"),
        ({"tension": np.inf}, ArrayError, "tension is inf"),
        ({"depth": 0.0}, ArrayError, "depth is 0"),
        ({"tension": -1.0}, ArrayError, "tension is -1"),
        ({"loop_period": 0.0}, ArrayError, "loop_period is 0"),
        ({"shortest": 5.0, "longest": 4.0}, ArrayError, "waves from 5.0 to 4.0 m"),
        ({"trough_damping": 2.0}, ArrayError, "trough_damping is 2.0\nexpected: 0 to 1"),
        ({"dtype": wp.float16}, ArgumentTypeError, "expected: float32 or float64"),
    ],
)
def test_refusals(options, error, message):
    with pytest.raises(error, match=message):
        make(**options)
