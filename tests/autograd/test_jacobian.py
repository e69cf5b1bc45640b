"""Jacobians by the adjoint and by differences, against Jacobians worked out by hand."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.autograd import FunctionMetadata, jacobian, jacobian_fd
from warpsim.errors import ArgumentCountError, JacobianError

BOTH = pytest.mark.parametrize("method", [jacobian, jacobian_fd])


@wp.kernel
def polar(r: wp.array(dtype=float), scale: float, angle: wp.array(dtype=wp.vec2), out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    a = angle[i][0] + angle[i][1]
    out[i] = scale * r[i] * wp.vec2(wp.cos(a), wp.sin(a))


R, ANGLE = np.array([1.5, -2.0]), np.array([[0.3, 0.4], [1.0, -0.2]])


def polar_arguments(dtype=float):
    r = wp.array(R, dtype=float, requires_grad=True)
    angle = wp.array(ANGLE, dtype=wp.vec2, requires_grad=True)
    return [r, 2.0, angle], [wp.zeros(2, dtype=wp.vec2, requires_grad=True)]


def polar_by_hand():
    by_r, by_angle = np.zeros((4, 2)), np.zeros((4, 4))
    for i in range(2):
        a = ANGLE[i].sum()
        by_r[2 * i : 2 * i + 2, i] = 2.0 * np.array([np.cos(a), np.sin(a)])
        by_angle[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = 2.0 * R[i] * np.array([[-np.sin(a)], [np.cos(a)]])
    return {("r", "out"): by_r, ("angle", "out"): by_angle}


def assert_jacobians(found, wanted, error=1e-3):
    assert {found.names[key] for key in found} == set(wanted)
    for pair, matrix in wanted.items():
        np.testing.assert_allclose(found[pair].numpy(), matrix, rtol=error, atol=error, err_msg=str(pair))


@BOTH
def test_a_kernel(method):
    inputs, outputs = polar_arguments()
    found = method(polar, dim=2, inputs=inputs, outputs=outputs)
    assert_jacobians(found, polar_by_hand())
    assert all(isinstance(matrix, wp.array) and matrix.dtype is wp.float32 for matrix in found.values())
    assert found[0, 0] is found["r", "out"] and found[2, 0] is found["angle", "out"]
    assert found.metadata.input_strides == {"r": 1, "angle": 2} and found.metadata.key == "polar"


@BOTH
def test_a_kernel_changes_nothing_of_the_caller(method):
    inputs, outputs = polar_arguments()
    for a in (inputs[0], inputs[2], *outputs):
        a.grad.fill_(7.0)
    method(polar, dim=2, inputs=inputs, outputs=outputs)
    np.testing.assert_array_equal(inputs[0].numpy(), R)
    assert not outputs[0].numpy().any()
    assert all((a.grad.numpy() == 7.0).all() for a in (inputs[0], inputs[2], *outputs))


@BOTH
def test_a_key_that_is_not_there(method):
    inputs, outputs = polar_arguments()
    found = method(polar, dim=2, inputs=inputs, outputs=outputs)
    for key in (("r", "nothing"), (1, 0), (0, 5), "r"):
        with pytest.raises(KeyError, match="there are"):
            found[key]


@BOTH
def test_pairs_by_name_and_by_position(method):
    inputs, outputs = polar_arguments()
    by_name = method(polar, dim=2, inputs=inputs, outputs=outputs, input_output_mask=[("angle", "out")])
    by_position = method(polar, dim=2, inputs=inputs, outputs=outputs, input_output_mask=[(2, 0), ("angle", 0)])
    assert list(by_name) == list(by_position) == [(2, 0)]
    assert ("angle", "out") in by_name and (2, 0) in by_name and ("r", "out") not in by_name
    assert by_name["angle", "out"] is by_name[2, 0] is by_name["angle", 0]


def test_rows_and_columns_that_were_not_evaluated_are_nan():
    inputs, outputs = polar_arguments()
    rows = jacobian(polar, dim=2, inputs=inputs, outputs=outputs, max_outputs_per_var=3)["angle", "out"].numpy()
    assert np.isnan(rows[3:]).all() and not np.isnan(rows[:3]).any()
    columns = jacobian_fd(polar, dim=2, inputs=inputs, outputs=outputs, max_inputs_per_var=3)["angle", "out"].numpy()
    assert np.isnan(columns[:, 3:]).all() and not np.isnan(columns[:, :3]).any()


@BOTH
def test_outputs_may_be_left_out(method):
    inputs, outputs = polar_arguments()
    assert_jacobians(
        method(polar, dim=2, inputs=[*inputs, *outputs], input_output_mask=[("r", "out")]),
        {("r", "out"): polar_by_hand()["r", "out"]},
    )


# ----- types -----------------------------------------------------------------------------------


@wp.kernel
def turn(q: wp.array(dtype=wp.quat), m: wp.array(dtype=wp.mat22), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v = m[i] * wp.vec2(1.0, 2.0)
    out[i] = wp.quat_rotate(q[i], wp.vec3(v[0], v[1], 0.5))


@BOTH
def test_quaternions_and_matrices(method):
    q = np.array([[0.1, -0.2, 0.3, 0.9]])
    m = np.array([[[0.5, -1.0], [0.25, 2.0]]])
    arrays = [wp.array(q, dtype=wp.quat, requires_grad=True), wp.array(m, dtype=wp.mat22, requires_grad=True)]
    found = method(turn, dim=1, inputs=arrays, outputs=[wp.zeros(1, dtype=wp.vec3, requires_grad=True)])

    def rotated(q, v):  # the formula of the unit quaternion, for any: x y z w
        u, w = q[:3], q[3]
        return v * (2.0 * w * w - 1.0) + 2.0 * w * np.cross(u, v) + 2.0 * u * (u @ v)

    v = np.array([*(m[0] @ [1.0, 2.0]), 0.5])
    by_q = np.stack([(rotated(q[0] + h, v) - rotated(q[0] - h, v)) / 2e-6 for h in 1e-6 * np.eye(4)], axis=1)
    columns = np.stack([rotated(q[0], e) for e in np.eye(3)], axis=1)
    by_m = np.stack([columns[:, row] * (1.0, 2.0)[column] for row in range(2) for column in range(2)], axis=1)
    assert_jacobians(found, {("q", "out"): by_q, ("m", "out"): by_m}, 2e-3)


@wp.kernel
def mixed(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float32)):
    i = wp.tid()
    y[i] = wp.float32(x[i] * x[i])


@BOTH
def test_the_wider_type_of_the_two_holds_the_matrix(method):
    x = wp.array([3.0], dtype=wp.float64, requires_grad=True)
    found = method(mixed, dim=1, inputs=[x], outputs=[wp.zeros(1, dtype=wp.float32, requires_grad=True)])
    assert found["x", "y"].dtype is wp.float64
    np.testing.assert_allclose(found["x", "y"].numpy(), [[6.0]], rtol=1e-4)


@wp.struct
class Body:
    x: wp.vec3
    label: int
    mass: float


@wp.struct
class State:
    q: wp.array(dtype=float)
    dt: float


@wp.kernel
def momentum(bodies: wp.array(dtype=Body), state: State, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    b = bodies[i]
    out[i] = b.mass * b.x * (state.q[i] * state.dt)


@BOTH
def test_structs_in_arrays_and_arrays_in_structs(method):
    bodies = wp.array([Body(x=wp.vec3(1.0, 2.0, 3.0), mass=4.0)], dtype=Body, requires_grad=True)
    state = State()
    state.q, state.dt = wp.array([5.0], dtype=float, requires_grad=True), 0.5
    found = method(momentum, dim=1, inputs=[bodies, state], outputs=[wp.zeros(1, dtype=wp.vec3, requires_grad=True)])
    by_bodies = np.hstack([10.0 * np.eye(3), 2.5 * np.array([[1.0], [2.0], [3.0]])])
    assert_jacobians(found, {("bodies", "out"): by_bodies, ("state.q", "out"): [[2.0], [4.0], [6.0]]}, 5e-3)


@wp.kernel
def square_in_place(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]
    y[i] += 3.0 * x[i]


@BOTH
def test_arrays_that_are_overwritten(method):
    x = wp.array([2.0, 5.0], dtype=float, requires_grad=True)
    y = wp.array([1.0, 1.0], dtype=float, requires_grad=True)
    found = method(square_in_place, dim=2, inputs=[x], outputs=[y])
    assert_jacobians(found, {("x", "y"): np.diag([12.0, 30.0])}, 5e-3)
    whole = method(square_in_place, dim=2, inputs=[x, y])
    assert_jacobians(
        whole,
        {
            ("x", "x"): np.diag([4.0, 10.0]),
            ("x", "y"): np.diag([12.0, 30.0]),
            ("y", "x"): np.zeros((2, 2)),
            ("y", "y"): np.eye(2),
        },
        5e-3,
    )


@BOTH
def test_the_interpreter(method):
    def on(device):
        r, angle = (wp.array(x, dtype=t, device=device, requires_grad=True) for x, t in ((R, float), (ANGLE, wp.vec2)))
        out = wp.zeros(2, dtype=wp.vec2, device=device, requires_grad=True)
        return method(polar, dim=2, inputs=[r, 2.0, angle], outputs=[out], device=device)

    found = on("interp")
    assert_jacobians(found, polar_by_hand())
    assert all(matrix.device == "interp" for matrix in found.values())


# ----- Python functions -------------------------------------------------------------------------


def two_results(r, angle, scale=2.0):
    out = wp.zeros(2, dtype=wp.vec2, requires_grad=True)
    wp.launch(polar, dim=2, inputs=[r, scale, angle], outputs=[out])
    r2 = wp.zeros(2, dtype=float, requires_grad=True)
    wp.copy(r2, r)
    return out, r2


@BOTH
def test_a_function(method):
    inputs, _ = polar_arguments()
    found = method(two_results, inputs=[inputs[0], inputs[2]])
    wanted = {
        ("r", "output_0"): polar_by_hand()["r", "out"],
        ("r", "output_1"): np.eye(2),
        ("angle", "output_0"): polar_by_hand()["angle", "out"],
        ("angle", "output_1"): np.zeros((2, 4)),
    }
    assert_jacobians(found, wanted)
    assert found[0, 1] is found["r", "output_1"]
    named = FunctionMetadata("f", ["radius", "angles"], ["point", "copy"])
    assert ("radius", "copy") in method(two_results, inputs=[inputs[0], inputs[2]], metadata=named)


@BOTH
def test_a_function_that_changes_its_inputs(method):
    def spoil(x):
        y = wp.zeros(2, dtype=float, requires_grad=True)
        wp.launch(square_in_place, dim=2, inputs=[x, y])
        return y

    x = wp.array([2.0, 5.0], dtype=float, requires_grad=True)
    assert_jacobians(method(spoil, inputs=[x]), {("x", "output_0"): np.diag([12.0, 30.0])}, 5e-3)
    np.testing.assert_array_equal(x.numpy(), [2.0, 5.0])
    assert not x.grad.numpy().any()


@BOTH
def test_functions_of_several_inputs_without_names(method):
    def first(*xs):
        return xs[0]

    xs = [wp.array([1.0], dtype=float, requires_grad=True) for _ in range(2)]
    assert_jacobians(method(first, inputs=xs), {("xs_0", "output_0"): [[1.0]], ("xs_1", "output_0"): [[0.0]]})


@BOTH
def test_nothing_is_recorded_on_a_tape_that_runs(method):
    inputs, outputs = polar_arguments()
    with wp.Tape() as tape:
        method(polar, dim=2, inputs=inputs, outputs=outputs)
        method(two_results, inputs=[inputs[0], inputs[2]])
    assert tape.launches == []


# ----- what bad input gets ----------------------------------------------------------------------


def refused(message, function=polar, method=jacobian, **changes):
    inputs, outputs = polar_arguments()
    with pytest.raises(JacobianError, match=message):
        method(function, **{"dim": 2, "inputs": inputs, "outputs": outputs, **changes})


@BOTH
def test_masks_that_name_nothing(method):
    def masked(mask, message):
        refused(message, method=method, input_output_mask=mask)

    known = "expected: one of r, scale, angle"
    masked([("angel", "out")], rf"polar has no input 'angel'\n{known}\nhelp: did you mean 'angle'")
    masked([("r", "result")], r"polar has no output 'result'\nexpected: one of out")
    masked([(3, 0)], r"polar has no input 3\nexpected: 0 to 2: r, scale, angle")
    masked([(0, -1)], r"polar has no output -1\nexpected: 0 to 0: out")
    masked([("scale", "out")], r"input 'scale' of polar has no gradient\nexpected: .*such are: r, angle")
    masked(["r"], r"has the entry 'r'\nexpected: a list of \(input, output\) pairs")
    masked("r", r"input_output_mask is 'r'")
    masked([], r"input_output_mask is empty")


def test_arrays_without_gradients():
    plain = wp.zeros(2, dtype=wp.vec2)
    message = r"polar has no differentiable output: .*\nhelp: make the output arrays with requires_grad=True"
    refused(message, outputs=[plain])
    refused(r"polar has no differentiable input", inputs=[wp.zeros(2), 2.0, plain])
    empty = wp.zeros(0, dtype=wp.vec2, requires_grad=True)
    refused(r"no float array with elements .*\nhelp: .*, and not empty", outputs=[empty])


def test_arguments_that_make_no_launch():
    inputs, outputs = polar_arguments()
    refused(r"no launch dimensions for kernel 'polar'\nhelp: pass dim=", dim=None)
    refused(r"inputs is array\nexpected: a list of arguments", inputs=inputs[0])
    refused(r"5 is neither a kernel nor a function", function=5)
    with pytest.raises(ArgumentCountError, match="got 3 arguments"):
        jacobian(polar, dim=2, inputs=inputs[:2], outputs=outputs)


def test_functions_that_do_not_fit():
    inputs, _ = polar_arguments()
    x = [inputs[0]]
    refused(r"result 1 of .* is float\nexpected: an array", function=lambda r: (r, 2.0), inputs=x, outputs=None)
    missing = r"does not take 1 input: missing a required argument: 'b'"
    refused(missing, function=lambda a, b: a, inputs=x, outputs=None)
    labels = FunctionMetadata(output_labels=["only"])
    refused(
        r"metadata has 1 labels of outputs\nexpected: 2",
        function=two_results,
        inputs=[x[0], inputs[2]],
        outputs=None,
        metadata=labels,
    )


@BOTH
def test_inputs_are_put_back_when_a_function_raises(method):
    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)

    def spoils(x):
        x.fill_(7.0)
        raise ArithmeticError("on purpose")

    with pytest.raises(ArithmeticError, match="on purpose"):
        method(spoils, inputs=[x])
    assert list(x.numpy()) == [1, 2]


@wp.kernel(enable_backward=False)
def _forward_only(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 3.0 * x[i]


def _launched(x):
    y = wp.zeros_like(x)
    wp.launch(_forward_only, x.size, [x], [y], device=x.device)
    return y


@pytest.mark.parametrize("as_function", [False, True])
def test_a_kernel_without_adjoint_has_differences_only(as_function):
    x, y = (wp.array([1.0, 2.0], dtype=float, requires_grad=True) for _ in range(2))
    what = {"inputs": [x]} if as_function else {"dim": 2, "inputs": [x], "outputs": [y]}
    function = _launched if as_function else _forward_only
    with pytest.raises(JacobianError, match="has enable_backward=False"):
        jacobian(function, **what)
    np.testing.assert_allclose(jacobian_fd(function, **what)[0, 0].numpy(), 3 * np.eye(2), atol=1e-3)
