"""Random programs over structures (see `structure_programs`): loss and gradients are those of PyTorch in float64.

10 programs every day and 40 at night, a third of them on the interpreter; WARPSIM_STRUCTURE_PROGRAMS=2000 runs that
many others.
"""

import os
from collections import Counter

import numpy as np
import pytest
import samples

import warpsim as wp

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import structure_programs as sp  # noqa: E402 - needs PyTorch

pytestmark = pytest.mark.assembled_one_in(5)
MORE = int(os.environ.get("WARPSIM_STRUCTURE_PROGRAMS", "0"))
CHUNK = 10
CHECKED = Counter()


def close(found, expected, single):
    """Textures compute in single precision; all else agrees to rounding."""
    return np.allclose(found, expected, rtol=0.0, atol=(2e-4 if single else 1e-9) * max(1.0, np.abs(expected).max()))


def check(p, device):
    first = sp.start(p)
    twin, real = sp.Twin(p, first), sp.Real(p, first, device)
    expected = twin.run()
    tape = real.run()
    single = "texture" in p.stages
    assert close(real.loss.numpy()[0], twin.loss.item(), single), f"loss\n{p}"
    for name in ("x", "u", "f", "texels"):
        assert close(getattr(real, name).grad.numpy(), expected[name], single), f"gradient of {name}\n{p}"
    direction = np.random.default_rng(p.seed).standard_normal(first["voxels"].shape)
    along = (real.volume.leaf_values.grad.numpy() * sp.values_of(direction, 0.0).leaf_values.numpy()).sum()
    assert close(along, (expected["voxels"] * direction).sum(), single), f"gradient of voxels\n{p}"
    if p.way != "checkpoint" and not {"pieces", "held", "solve"} & set(p.stages):
        check_tangent(p, real, tape, expected, single)
    CHECKED.update([*p.stages, p.way])


def check_tangent(p, real, tape, expected, single):
    """Forward mode along a random direction; Cholesky factors have none, nor have arrays in elements of others."""
    rng = np.random.default_rng(p.seed)
    along = {name: rng.standard_normal(expected[name].shape) for name in ("x", "u")}
    moved = wp.autograd.jvp(tape, tangents={getattr(real, name): d for name, d in along.items()})
    wanted = sum((expected[name] * d).sum() for name, d in along.items())
    assert close(moved[real.loss].numpy()[0], wanted, single), f"tangent\n{p}"
    CHECKED["tangent"] += 1


@pytest.mark.parametrize("chunk", samples.parts(-(-(MORE or 40) // CHUNK), MORE or 1))
def test_gradients_through_structures(chunk):
    for k in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        p = sp.program(k + (1000 if MORE else 0))
        check(p, "interp" if not MORE and p.n < 10 and k % 3 == 0 else "cpu")
    print(f"\n{dict(CHECKED)}")


def test_the_generator_reaches_every_stage_and_way():
    programs = [sp.program(k) for k in range(40)]
    assert {s for p in programs for s in p.stages} == set(sp.STAGES)
    assert {p.way for p in programs} == set(sp.WAYS)
