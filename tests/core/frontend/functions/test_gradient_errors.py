"""Gradients and replays that do not fit, and misuse of `wp.adjoint`: each error with its cure."""

import pytest
from custom_gradient_runs import refused

import warpsim as wp
from warpsim.errors import KernelTypeError

Floats = wp.array(dtype=float)


@wp.func
def scaled(x: float, n: int):
    return x * float(n)


@wp.func
def declared(x: float) -> tuple[float, wp.vec3]:
    return x, wp.vec3(x, x, x)


@wp.func
def undeclared(x: float):
    both = x, 2.0 * x
    return both


@wp.func
def square(x: float):
    return x * x


def fresh():
    """A function of its own, x * x, so that declarations of one test are not seen by another."""

    @wp.func
    def f(x: float):
        return x * x

    return f


def declaration(decorator, forward, function):
    return refused(lambda: decorator(forward)(function))


# ----- declarations -----------------------------------------------------------------------------


def test_too_few_parameters():
    def adj(x: float):
        pass

    text = declaration(wp.func_grad, scaled, adj)
    assert "'adj' does not fit func_grad(scaled): for scaled(x: float, n: int): it has 1 parameter" in text
    assert "expected: (x: float32, n: int32, adj_ret, ...)" in text
    assert "def adj(x: float):" in text  # the place of the declaration


def test_no_adjoint_parameter():
    def adj(x: float, n: int):
        pass

    assert "it has 0 adjoint parameters, expected at least 1, one per output" in declaration(wp.func_grad, scaled, adj)


def test_fewer_adjoints_than_declared_outputs():
    def adj(x: float, adj_x: float):
        pass

    text = declaration(wp.func_grad, declared, adj)
    assert "it has 1 adjoint parameter, expected 2, one per output" in text
    assert "expected: (x: float32, adj_0: float32, adj_1: vec3f)" in text


def test_an_adjoint_for_nothing():
    @wp.func
    def nothing(x: float):
        pass

    def adj(x: float, adj_ret: float):
        pass

    assert "it has 1 adjoint parameter, expected 0" in declaration(wp.func_grad, nothing, adj)


def test_an_adjoint_of_another_type_than_the_declared_output():
    def adj(x: float, adj_x: float, adj_v: float):
        pass

    assert "the adjoint of output 1 is vec3f, here float32" in declaration(wp.func_grad, declared, adj)


def test_parameters_that_are_not_those_of_the_function():
    def adj(x: wp.vec3, n: int, adj_ret: float):
        pass

    text = declaration(wp.func_grad, scaled, adj)
    assert "parameter 'x' is float32, here vec3f" in text
    assert "help: give it the parameters of the function, with the same types" in text


def test_all_overloads_are_named_when_none_fits():
    f = fresh()

    @wp.func(overload_of=f)
    def _(x: wp.vec3):
        return x

    def adj(x: wp.mat22, adj_ret: wp.mat22):
        pass

    text = declaration(wp.func_grad, f, adj)
    assert "for f(x: float): parameter 'x' is float32, here mat22f" in text
    assert "for _(x: vec3f): parameter 'x' is vec3f, here mat22f" in text
    assert "expected: (x: float32, adj_ret, ...) or (x: vec3f, adj_ret, ...)" in text


def test_a_gradient_that_returns_a_value():
    def adj(x: float, adj_ret: float):
        return 2.0 * x * adj_ret

    text = declaration(wp.func_grad, square, adj)
    assert "it returns a value" in text
    assert "help: write wp.adjoint[x] += ... for each input x" in text


@pytest.mark.parametrize("decorator", [wp.func_grad, wp.func_replay])
def test_declarations_are_for_functions_made_by_func(decorator):
    name = decorator.__name__
    text = refused(decorator, lambda x: x)
    assert text == (
        f"{name} is given <lambda>\nfound: function\nexpected: a function made by @wp.func\n"
        "help: decorate it with @wp.func first"
    )
    text = refused(decorator, wp.sin)
    assert "found: a built-in" in text
    assert "help: wrap it in a function made by @wp.func" in text


def test_native_functions_have_texts_instead():
    @wp.func_native("return x * x;")
    def native(x: float) -> float: ...

    assert refused(wp.func_grad, native) == (
        "func_grad is given the native function 'native'\n"
        "help: give func_native the text: adj_snippet= or replay_snippet="
    )


def test_a_replay_with_other_parameters_or_results():
    def longer(x: float, y: float):
        return x

    def other(x: float) -> float:
        return x

    assert "it has 2 parameters, expected 1" in declaration(wp.func_replay, square, longer)
    assert "it returns float32, expected float32, vec3f" in declaration(wp.func_replay, declared, other)


# ----- what shows when types are known --------------------------------------------------------------


def test_more_outputs_than_adjoints():
    @wp.func_grad(undeclared)
    def adj(x: float, adj_ret: float):
        pass

    text = refused(wp.grad(undeclared), 1.0)
    assert "it has 1 adjoint parameter, and undeclared returns 2 values" in text
    assert "expected: (x: float32, adj_0: float32, adj_1: float32)" in text
    assert "help: one adjoint per output, after the inputs" in text


def test_an_adjoint_of_another_type_than_the_output():
    f = fresh()

    @wp.func_grad(f)
    def adj(x: float, adj_ret: wp.float64):
        pass

    text = refused(wp.grad(f), 1.0)
    assert "its adjoint parameters are float64, and the outputs float32" in text
    assert "help: an adjoint has the type of its output" in text


def test_a_replay_with_results_of_another_type():
    f = fresh()

    @wp.func_replay(f)
    def replay(x: float):
        return wp.float64(x)

    text = refused(wp.grad(f), 1.0)
    assert "'replay' does not fit func_replay(f): it returns float64, and f returns float32" in text


def test_errors_in_a_gradient_show_where_the_function_was_called():
    f = fresh()

    @wp.func_grad(f)
    def adj(x: float, adj_ret: float):
        wp.adjoint[x] += adj_ret * wp.float64(x)

    @wp.func
    def caller(x: float):
        return f(x) + 1.0

    with pytest.raises(KernelTypeError) as caught:
        wp.grad(caller)(1.0)
    text = str(caught.value)
    assert "mul: no overload for (float32, float64)" in text
    assert "wp.adjoint[x] += adj_ret * wp.float64(x)" in text
    assert "called from" in text
    assert "return f(x) + 1.0" in text


def test_a_function_that_takes_local_functions_has_no_gradient_of_its_own():
    @wp.func
    def applied(f: wp.Function, x: float):
        return f(x)

    @wp.func_grad(applied)
    def adj(f: wp.Function, x: float, adj_ret: float):
        wp.adjoint[x] += adj_ret

    @wp.kernel
    def k(a: Floats):
        a[0] = applied(lambda x: x, a[0])

    text = refused(lambda: wp.launch(k, dim=1, inputs=[wp.zeros(1, dtype=float)]))
    assert "takes or returns a function that is defined inside the kernel" in text
    assert "help: define that function outside, with @wp.func" in text


def test_a_gradient_that_asks_for_itself():
    f = fresh()

    @wp.func
    def indirectly(x: float):
        return f(x) + 1.0

    @wp.func_grad(f)
    def adj(x: float, adj_ret: float):
        wp.adjoint[x] += wp.grad(indirectly)(x) * adj_ret

    text = refused(wp.grad(f), 1.0)
    assert "the gradient of 'f' asks for its own derivative" in text
    assert "help: write the derivative out, or take that of another function" in text


# ----- wp.adjoint -----------------------------------------------------------------------------------


def test_adjoint_outside_a_gradient():
    @wp.kernel
    def k(x: Floats):
        wp.adjoint[x][0] += 1.0

    text = refused(lambda: wp.launch(k, dim=1, inputs=[wp.zeros(1, dtype=float)]))
    assert "wp.adjoint outside a function made by @wp.func_grad" in text
    with pytest.raises(TypeError, match=r"functions made by @wp\.func_grad only"):
        wp.adjoint[0]
    with pytest.raises(TypeError, match=r"functions made by @wp\.func_grad only"):
        wp.adjoint[0] = 1.0


def test_a_parameter_called_adjoint_is_no_misuse():
    @wp.kernel
    def k(adjoint: Floats):
        adjoint[0] = adjoint[0] + 1.0

    k.function.__globals__["adjoint"] = wp.adjoint
    try:
        a = wp.zeros(1, dtype=float)
        wp.launch(k, dim=1, inputs=[a])
    finally:
        del k.function.__globals__["adjoint"]
    assert a.numpy().tolist() == [1.0]


def test_keys_are_inputs():
    def unknown(x: float, n: int, adj_ret: float):
        wp.adjoint[y] += adj_ret  # noqa: F821

    def indexed(x: float, n: int, adj_ret: float):
        wp.adjoint[x, 0] += adj_ret

    text = declaration(wp.func_grad, scaled, unknown)
    assert "wp.adjoint[y] is the adjoint of no parameter" in text
    assert "expected: an input or a part of one: x, n" in text
    text = declaration(wp.func_grad, scaled, indexed)
    assert "wp.adjoint[x, 0] is the adjoint of no parameter" in text


def test_an_adjoint_has_no_adjoint():
    f = fresh()

    @wp.func_grad(f)
    def adj(x: float, adj_ret: float):
        wp.adjoint[adj_ret] += 1.0

    text = refused(wp.grad(f), 1.0)
    assert "wp.adjoint[adj_ret] is the adjoint of an adjoint" in text
    assert "expected: wp.adjoint[x]" in text


@pytest.mark.parametrize("operation", ["set", "add", "read"])
def test_integers_have_no_adjoint(operation):
    @wp.func
    def f(x: float, n: int):
        return x

    if operation == "set":

        @wp.func_grad(f)
        def adj(x: float, n: int, adj_ret: float):
            wp.adjoint[n] = 1

    elif operation == "add":

        @wp.func_grad(f)
        def adj(x: float, n: int, adj_ret: float):
            wp.adjoint[n] += 1

    else:

        @wp.func_grad(f)
        def adj(x: float, n: int, adj_ret: float):
            wp.adjoint[x] += float(wp.adjoint[n])

    text = refused(wp.grad(f), 1.0, 2)
    assert "wp.adjoint[n]: int32 has no derivative" in text
    assert "help: leave it out" in text


def test_a_cotangent_keeps_its_type():
    f = fresh()

    @wp.func_grad(f)
    def adj(x: float, adj_ret: float):
        wp.adjoint[x] = wp.float64(2.0)

    with pytest.raises(KernelTypeError, match=r"wp\.adjoint\[x\] is float64, not float32"):
        wp.grad(f)(1.0)


def test_the_gradient_array_is_reached_by_its_elements():
    @wp.func
    def first(a: Floats, s: float):
        return a[0] * s

    def whole(a: Floats, s: float, adj_ret: float):
        wp.adjoint[a] += adj_ret

    def passed_on(a: Floats, s: float, adj_ret: float):
        b = wp.adjoint[a]
        b[0] += adj_ret

    @wp.kernel
    def k(a: Floats):
        a[0] = wp.grad(first)(a, 1.0)

    for function in (whole, passed_on):
        wp.func_grad(first)(function)
        text = refused(lambda: wp.launch(k, dim=1, inputs=[wp.zeros(1, dtype=float)]))
        assert "wp.adjoint[a] is an array of gradients" in text
        assert "help: read and write its elements: wp.adjoint[a][i] += ..." in text


def test_views_of_gradients_are_refused():
    @wp.func
    def first(a: wp.array(dtype=float, ndim=2), s: float):
        return a[0, 0] * s

    @wp.func_grad(first)
    def adj(a: wp.array(dtype=float, ndim=2), s: float, adj_ret: float):
        row = wp.adjoint[a][0]
        row[0] += adj_ret

    @wp.kernel
    def k(a: wp.array(dtype=float, ndim=2)):
        a[0, 0] = wp.grad(first)(a, 1.0)

    text = refused(lambda: wp.launch(k, dim=1, inputs=[wp.zeros((1, 1), dtype=float)]))
    assert "wp.adjoint[a][0] is a view of gradients" in text
    assert "help: give it an index for every dimension of the array" in text


def test_functions_inside_a_gradient_do_not_change_cotangents():
    def adj(x: float, adj_ret: float):
        def inner(y: float):
            wp.adjoint[x] += y

        inner(adj_ret)

    def declare():
        wp.func_grad(square)(adj)

    text = refused(declare)
    assert "wp.adjoint in a function inside a gradient" in text
    assert "help: compute the value there, and add it outside" in text
