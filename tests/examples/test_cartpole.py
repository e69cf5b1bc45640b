"""The example of a network that balances poles: the kernel against NumPy, both frameworks do the same, learning."""

import numpy as np
import pytest
from matplotlib.image import imread

import warpsim as wp

EXAMPLE = "cartpole"
pytestmark = pytest.mark.cpu(reason="PyTorch and JAX on the CPU")


def needs(framework):
    return pytest.importorskip(framework, reason=f"{framework} is not installed")


def stepped(state, force):
    """One interval of control in float64."""
    x, v, angle, spin = state.astype(float).T
    for _ in range(4):
        sine, cosine = np.sin(angle), np.cos(angle)
        pushed = (force + 0.05 * spin**2 * sine) / 1.1
        turning = (9.81 * sine - cosine * pushed) / (0.5 * (4.0 / 3.0 - 0.1 * cosine**2 / 1.1))
        v, spin = v + 0.005 * (pushed - 0.05 * turning * cosine / 1.1), spin + 0.005 * turning
        x, angle = x + 0.005 * v, angle + 0.005 * spin
    return np.stack([x, v, angle, spin], axis=1)


def test_the_kernel_is_the_equations(example):
    rng = np.random.default_rng(0)
    state, force = rng.uniform(-2.0, 2.0, (50, 4)).astype(np.float32), rng.uniform(-20.0, 20.0, 50).astype(np.float32)
    after = wp.zeros(50, dtype=wp.vec4)
    wp.launch(example.advance, 50, [wp.array(state, dtype=wp.vec4), force], [after])
    np.testing.assert_allclose(after.numpy(), stepped(state, force), rtol=1e-4, atol=1e-4)


def test_both_frameworks_do_the_same(example):
    needs("torch"), needs("jax")
    runs = [train(8, 20, 3) for train in (example.train_torch, example.train_jax)]
    for found, expected in zip(*runs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4)


def test_poles_stay_upright(example, tmp_path, capsys):
    needs("jax")
    picture = tmp_path / "poles.png"
    result = example.main(["--framework", "jax", "--carts", "32", "--rounds", "60", "--picture", str(picture)])
    example.check(result)
    assert result.losses[-1] < 0.1 * result.losses[0] and "after 60 rounds" in capsys.readouterr().out
    pixels = imread(picture)[..., :3]
    assert (pixels[..., 2] - pixels[..., 0] > 0.3).mean() > 0.005


def test_poles_stay_upright_by_torch(example, tmp_path):
    needs("torch")
    example.check(example.main(["--carts", "32", "--rounds", "60", "--picture", str(tmp_path / "poles.png")]))


def test_the_check_catches(example):
    motion = np.zeros((2, 3, 4))
    with pytest.raises(AssertionError, match="without training"):
        example.check(example.Result([1.0], motion, motion))
    with pytest.raises(AssertionError, match="at the end"):
        example.check(example.Result([1.0], motion + 2.0, motion + 1.0))


def test_refusals(example, capsys):
    with pytest.raises(SystemExit):
        example.main(["--rounds", "0"])
    assert "is not at least 1" in capsys.readouterr().err
