"""`config.print_launches`: every launch says what it is before it runs."""

import pytest

import warpsim as wp


@wp.kernel
def scale(x: wp.array[float], a: float, y: wp.array[float]):
    i = wp.tid()
    y[i] = a * x[i]


@pytest.mark.cpu(reason="names the CPU and the interpreter")
def test_launches_are_printed_on_request(monkeypatch, capsys):
    x, y = wp.array([0.0, 1.0, 2.0], dtype=float), wp.zeros(3)
    for printed in (False, True, False):
        monkeypatch.setattr(wp.config, "print_launches", printed)
        for device in ("cpu", "cpu", "interp"):
            wp.launch(scale, dim=3, inputs=[x, 2.0], outputs=[y], device=device)
            text = capsys.readouterr().out
            words = ("kernel: scale dim: 3 ", "2.0]", "outputs: [array(", f"device: {device}")
            assert all(word in text for word in words) if printed else not text
    assert y.list() == [0, 2, 4]
