"""Messages between processes come back as they were; what is none is refused before it takes memory."""

import io
import json

import numpy as np
import pytest

from warpsim.usd import UsdError
from warpsim.usd.messages import receive, send


def sent(message):
    stream = io.BytesIO()
    send(stream, message)
    return stream.getvalue()


def test_messages_come_back():
    arrays = [np.arange(6, dtype=kind).reshape(2, 3) for kind in ("f4", "f8", "i4", "i8")]
    arrays += [np.empty((0, 3), "f4"), np.arange(8.0)[::2], np.array(2.5)]
    message = {"a": [1, 2.5, None, True, float("inf"), "\udcff\n"], "arrays": arrays, "b": {"c": arrays[0].T}}
    back = receive(io.BytesIO(sent(message)), 1 << 20)
    assert back["a"] == message["a"]
    for found, right in zip([*back["arrays"], back["b"]["c"]], [*arrays, arrays[0].T], strict=True):
        np.testing.assert_array_equal(found, right)
        assert found.dtype == right.dtype and found.flags.writeable


def test_messages_cut_off_anywhere():
    whole = sent({"a": np.arange(5, dtype="i4"), "b": [1, 2]})
    for size in range(len(whole)):
        with pytest.raises(EOFError):
            receive(io.BytesIO(whole[:size]), 1 << 20)


@pytest.mark.parametrize(
    "kind, shape, error",
    [
        ("|O", [1], EOFError),
        ("<f4", [-1], EOFError),
        ("<f4", [2**40, 2**40], UsdError),
        ("<f8", [200], UsdError),
        ("<f4", ["x"], TypeError),
        (["<f4"], [1], TypeError),
    ],
)
def test_arrays_that_are_none(kind, shape, error):
    text = json.dumps({"array": kind, "shape": shape}).encode()
    with pytest.raises(error):
        receive(io.BytesIO(len(text).to_bytes(8, "little") + text + bytes(100)), 1000)
