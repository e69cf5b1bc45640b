"""What a launch reads and writes, told by its program and named after its parameters."""

import warpsim as wp
from warpsim.core.runtime.tape.traffic import arrays_in, traffic


@wp.struct
class State:
    q: wp.array(dtype=float)
    mass: wp.array(dtype=float)
    dt: float


@wp.kernel
def advance(state: State, force: wp.array(dtype=float), energy: wp.array(dtype=float), unused: wp.array(dtype=float)):
    i = wp.tid()
    state.q[i] = state.q[i] + force[i] / state.mass[i] * state.dt
    wp.atomic_add(energy, 0, state.q[i])


@wp.kernel
def overwrite(x: wp.array(dtype=wp.vec3)):
    x[wp.tid()] = wp.vec3(1.0, 2.0, 3.0)


@wp.kernel
def halve(x: wp.indexedarray(dtype=float)):
    x[wp.tid()] *= 0.5


def some_state():
    state = State()
    state.q, state.mass, state.dt = wp.zeros(3), wp.ones(3), 0.1
    return state


def test_arrays_in_structs_are_told_apart():
    found = traffic(advance, [some_state(), wp.ones(3), wp.zeros(1), wp.zeros(1)])
    assert found.read == {"state.q", "state.mass", "force"}
    assert found.written == {"state.q", "energy"}


def test_an_array_that_is_only_written():
    assert traffic(overwrite, [wp.zeros(2, dtype=wp.vec3)]) == (frozenset(), frozenset({"x"}))


def test_an_indexedarray():
    x = wp.indexedarray(wp.ones(4), [wp.array([0, 2], dtype=int)])
    assert traffic(halve, [x]).written == {"x"}
    assert list(arrays_in(x, "x")) == [("x", x.data)]


def test_the_arrays_of_an_argument():
    state = some_state()
    assert list(arrays_in(state, "s")) == [("s.q", state.q), ("s.mass", state.mass)]
    assert list(arrays_in(2.0, "k")) == []
