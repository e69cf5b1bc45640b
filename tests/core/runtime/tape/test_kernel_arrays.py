"""The arrays of a kernel, and those among its arguments: what it reads and writes, told by its program."""

import warpsim as wp
from warpsim.core.runtime.tape.kernel_arrays import arrays_in, arrays_of


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


def names(kernel, args):
    """What a launch with these arguments reads and changes."""
    arrays = arrays_of(kernel, kernel.types_for(args), kernel.settings())
    return [{arrays.name[ref] for ref in refs} for refs in (arrays.uses.read, arrays.written)]


def test_arrays_in_structs_are_told_apart():
    read, written = names(advance, [some_state(), wp.ones(3), wp.zeros(1), wp.zeros(1)])
    assert read == {"state.q", "state.mass", "force"} and written == {"state.q", "energy"}


def test_an_array_that_is_only_written():
    assert names(overwrite, [wp.zeros(2, dtype=wp.vec3)]) == [set(), {"x"}]


def test_an_indexedarray():
    x = wp.indexedarray(wp.ones(4), [wp.array([0, 2], dtype=int)])
    assert names(halve, [x])[1] == {"x"}
    assert list(arrays_in(x, "x")) == [("x", x.data)]


@wp.kernel
def blended(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = a[i] + b[i]


def test_one_array_under_two_names_counts_under_the_first():
    arrays = arrays_of(blended, tuple(blended.patterns.values()), blended.settings(), ((0, 2),))
    assert {arrays.name[ref] for ref in arrays.uses.read} == {"a", "b"}
    assert [arrays.words(ref) for ref in arrays.written] == ["'a'"]


def test_the_arrays_of_an_argument():
    state = some_state()
    assert list(arrays_in(state, "s")) == [("s.q", state.q), ("s.mass", state.mass)]
    assert list(arrays_in(2.0, "k")) == []
