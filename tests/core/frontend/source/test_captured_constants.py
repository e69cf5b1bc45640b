"""Constants from outside: as they are when a kernel is first compiled; those that differ between kernels of one def."""

import threading

import pytest
from notebooks import Notebook, value

import warpsim as wp

DEVICES = ["cpu", "interp"]


@pytest.fixture
def notebook():
    return Notebook()


@pytest.mark.parametrize("device", DEVICES)
def test_constants_count_as_they_are_when_a_kernel_is_first_compiled(notebook, device):
    names = notebook.run("""
        C, G, T, O, N = 1.0, wp.vec3(2.0, 0.0, 0.0), [3.0], type("O", (), {"k": 4.0})(), None
        @wp.func
        def f(x: float):
            return x * C
        @wp.kernel
        def k(a: wp.array(dtype=float)):
            a[wp.tid()] = f(C) * 1000.0 + G[0] * 100.0 + wp.static(T[0]) * 10.0 + O.k + float(N)
        @wp.kernel
        def j(a: wp.array(dtype=float)):
            a[wp.tid()] = f(C)
    """)
    notebook.run("C, G[0], T[0], O.k, N = 2.0, 5.0, 9.0, 6.0, 7")
    assert value(names.k, device) == 4543.0  # what is static belongs to the definition
    notebook.run("C, G[0], T[0], O.k, N = 8.0, 8.0, 8.0, 8.0, 8")
    assert value(names.k) == value(names.k, "interp") == 4543.0
    assert value(names.j, device) == 16.0  # f was compiled before, j was not


def test_forward_and_adjoint_have_the_same_constants(notebook):
    names = notebook.run("""
        C = 1.0
        @wp.kernel
        def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            y[0] = C * x[0]
        C = 2.0
        x, y = (wp.ones(1, dtype=float, requires_grad=True) for _ in range(2))
        with wp.Tape() as tape:
            wp.launch(k, 1, inputs=[x, y])
        C = 3.0
        tape.backward(y)
    """)
    assert names.y.list() == names.x.grad.list() == [2.0]


@pytest.mark.parametrize("changed", ["gradient", "replay", "what the gradient calls"])
def test_gradients_and_replays_of_users_have_the_constants_of_their_function(notebook, changed):
    factor = "helped(x)" if changed == "what the gradient calls" else "2.0 * C * x"
    names = notebook.run(f"""
        C = 1.0
        @wp.func
        def helped(x: float):
            return 2.0 * C * x
        @wp.func
        def f(x: float):
            return C * x * x
        @wp.func_{"replay" if changed == "replay" else "grad"}(f)
        def custom(x: float{"" if changed == "replay" else ", adj: float"}):
            {"return C * x * x" if changed == "replay" else f"wp.adjoint[x] += {factor} * adj"}
        @wp.kernel
        def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            a = f(x[0])
            y[0] = a * a
        C = 2.0
        x, y = (wp.full(1, 3.0, dtype=float, requires_grad=True) for _ in range(2))
        wp.launch(k, 1, inputs=[x, y])
        C = 5.0
        with wp.Tape() as tape:
            wp.launch(k, 1, inputs=[x, y])
        y.grad.fill_(1.0)
        tape.backward()
    """)
    assert (names.y.list(), names.x.grad.list()) == ([18.0**2], [2 * 18.0 * 12.0])


@pytest.mark.parametrize("others", [(), (1.0,), (5.0,), (1.0, 5.0)])
def test_a_number_that_a_factory_assigns_again_counts_whatever_other_calls_gave(others):
    def make(x):
        @wp.kernel
        def k(a: wp.array(dtype=float)):
            a[wp.tid()] = x

        x += 1.0
        return k

    before = [make(x) for x in others]
    assert value(make(1.0)) == 2.0
    assert [value(k) for k in before] == [x + 1.0 for x in others]


def test_a_list_or_an_object_that_a_factory_is_given_again_counts_as_it_was(notebook):
    names = notebook.run("""
        def make(v, o):
            @wp.kernel
            def k(a: wp.array(dtype=float)):
                a[wp.tid()] = 10.0 * v[0] + o.k
            return k
        v, o, kernels = [0.0], type("O", (), {})(), []
        for x in (1.0, 2.0):
            v[0] = o.k = x
            kernels.append(make(v, o))
    """)
    assert [value(k) for k in names.kernels] == [11.0, 22.0]


def test_threads_define_and_compile_kernels_of_one_def_at_once():
    def make(x):
        @wp.kernel
        def k(a: wp.array(dtype=float)):
            a[wp.tid()] = x

        return k

    values, barrier = [], threading.Barrier(8)

    def work(x):
        barrier.wait()
        values.extend((x, value(k)) for k in [make(x) for _ in range(4)])

    threads = [threading.Thread(target=work, args=(float(x % 4),)) for x in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(values) == 32 and all(a == b for a, b in values)


def test_a_constant_that_differs_between_the_kernels_of_one_def_belongs_to_each(notebook):
    names = notebook.run("""
        G, kernels = 1.0, []
        def make(x):
            @wp.kernel
            def k(a: wp.array(dtype=float)):
                a[wp.tid()] = 10.0 * G + x
            return k
        for v in (1.0, 1.0, 2.0):
            @wp.kernel
            def looped(a: wp.array(dtype=float)):
                a[wp.tid()] = v
            kernels.append(looped)
        one, two = make(3.0), make(4.0)
        G = 2.0
        three = make(4.0)
        G, v = 5.0, 6.0
    """)
    assert [value(k) for k in names.kernels] == [1.0, 1.0, 2.0]
    assert [value(k) for k in (names.one, names.two, names.three)] == [13.0, 14.0, 24.0]


def test_a_constant_that_all_kernels_of_one_def_share_counts_when_they_are_compiled(notebook):
    names = notebook.run("""
        G = 1.0
        def make(x):
            @wp.kernel
            def k(a: wp.array(dtype=float)):
                a[wp.tid()] = 10.0 * G + x
            return k
        one, two = make(3.0), make(4.0)
        G = 2.0
    """)
    assert [value(k) for k in (names.one, names.two)] == [23.0, 24.0]


@pytest.mark.parametrize(
    ("zeros", "expression"),
    [
        ("(0.0, -0.0)", "v"),
        ("map(wp.float64, (0.0, -0.0))", "float(v)"),
        ("[(x, 1.0) for x in (0.0, -0.0)]", "v[0]"),
        ("[wp.vec2(x, 1.0) for x in (0.0, -0.0)]", "v[0]"),
        ("[S(k=x) for x in (0.0, -0.0)]", "v.k"),
    ],
    ids=["float", "float64", "tuple", "vector", "struct"],
)
def test_zeros_of_either_sign_are_different_constants(notebook, zeros, expression):
    kernels = notebook.run(f"""
        kernels = []
        @wp.struct
        class S:
            k: float
        for v in {zeros}:
            @wp.kernel
            def k(a: wp.array(dtype=float)):
                a[wp.tid()] = wp.copysign(1.0, {expression})
            kernels.append(k)
    """).kernels
    assert [value(k) for k in kernels] == [1.0, -1.0]


def test_a_constant_that_is_nan_is_the_same_in_all_kernels_of_one_def(notebook):
    names = notebook.run("""
        G = (float("nan"), wp.vec2(wp.nan, 0.0))
        def make():
            @wp.kernel
            def k(a: wp.array(dtype=float)):
                a[wp.tid()] = G[0] + G[1][0]
            return k
        one, two = make(), make()
        G = (1.0, wp.vec2(2.0, 0.0))
    """)
    assert [value(k) for k in (names.one, names.two)] == [3.0, 3.0]


def test_a_constant_of_the_enclosing_function_counts_when_it_was_changed_before_the_launch():
    def script(n):
        gain = 1.0

        @wp.kernel
        def k(a: wp.array(dtype=float)):
            a[wp.tid()] = gain

        gain = n
        first = value(k)
        gain = 9.0
        return first, value(k)

    assert script(2.0) == (2.0, 2.0)
    assert script(3.0) == (3.0, 3.0)


def test_a_constant_that_is_deleted_keeps_its_value(notebook):
    names = notebook.run("""
        C = 4.0
        @wp.kernel
        def k(a: wp.array(dtype=float)):
            a[wp.tid()] = C
        del C
    """)
    assert value(names.k) == 4.0


def test_a_table_in_a_static_that_waits_for_the_compiler_is_the_one_of_the_first_compilation(notebook):
    names = notebook.run("""
        table = [1.0, 2.0, {"x": np.array([4.0])}]
        @wp.kernel
        def k(a: wp.array(dtype=float)):
            i = 1
            a[wp.tid()] = wp.static(table[i] + float(table[2]["x"][0]) + table[0])
    """)
    notebook.run("table[0] = 50.0; table[2]['x'][0] = 70.0; table[1] = 3.0")
    assert value(names.k) == 123.0
    notebook.run("table.clear()")
    assert value(names.k, "interp") == 123.0


def test_a_table_of_functions_is_filled_after_the_kernel_is_defined(notebook):
    names = notebook.run("""
        table = [None, None]
        @wp.kernel
        def k(a: wp.array(dtype=float)):
            total = 1.0
            for i in range(2):
                total = wp.static(table[i])(total)
            a[wp.tid()] = total
        table[0] = wp.func(lambda x: x * 3.0)
        table[1] = wp.func(lambda x: x + 4.0)
    """)
    assert value(names.k) == 7.0
