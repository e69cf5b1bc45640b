"""`wp.static` inside other expressions of `wp.static`."""

import enum

import warpsim as wp


def test_a_static_inside_a_static_is_evaluated_once():
    counted = []

    def counting(x):
        counted.append(x)
        return x

    @wp.kernel
    def k(out: wp.array(dtype=float)):
        out[0] = wp.static(1.0 + wp.static(counting(2.0)))
        for i in range(3):
            out[1] += wp.static(float(i) + wp.static(counting(10.0)))

    assert counted == [2.0, 10.0]  # when the kernel is defined
    out = wp.zeros(2, dtype=float)
    wp.launch(k, 1, inputs=[out])
    assert out.list() == [3.0, 33.0] and counted == [2.0, 10.0]


class Mask(enum.IntFlag):
    LOW = 1
    HIGH = 4


@wp.kernel
def marked(out: wp.array[int]):
    wp.atomic_or(out, 0, wp.static(Mask.HIGH))


def test_a_member_of_an_enumeration_is_an_integer():
    out = wp.array([2], dtype=int)
    wp.launch(marked, 1, inputs=[out])
    assert out.numpy()[0] == 6
