"""Types themselves go through `pickle`, into processes that never made them."""

import pickle
import subprocess
import sys

import pytest

import warpsim as wp
from warpsim.core.types import values

TYPES = [wp.vec3, wp.mat22d, wp.quath, wp.transformd, wp.types.vector(7, wp.uint8), wp.types.vector(0, float)]
TYPES += [wp.types.vector(12, bool), wp.types.matrix((2, 9), wp.int16), wp.types.matrix((12, 3), wp.float64)]
TYPES += [wp.types.vector(5, wp.bfloat16), wp.array[wp.types.vector(6, float), 2], wp.float16]
SHOW = "import pickle, sys; print([repr(t) for t in pickle.load(sys.stdin.buffer)])"


@pytest.mark.parametrize("t", TYPES, ids=repr)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_type_comes_back_as_itself(t, protocol):
    assert pickle.loads(pickle.dumps(t, protocol)) is t


def test_types_arrive_in_a_fresh_process():
    done = subprocess.run([sys.executable, "-c", SHOW], input=pickle.dumps(TYPES), capture_output=True, check=True)
    assert done.stdout.decode().strip() == str([repr(t) for t in TYPES])


@pytest.mark.parametrize("name", ["vec3", "vec3q", "quat4f", "mat3f", "vecf", "transform7d", "Compound2"])
def test_other_names_are_no_types(name):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
        getattr(values, name)
