"""Files out of memory: archives that others read, the same bytes whatever was saved before, sums, large sizes."""

import io
import zipfile

import numpy as np
import pytest

from warpsim.solvers.saved import image as image_module
from warpsim.solvers.saved.image import PAGE, Content, FileImage, member_name

RNG = np.random.default_rng(0)


def contents(**arrays):
    return [Content(name, np.asarray(values), False) for name, values in arrays.items()]


def bytes_of(image, arrays, text=b"{}"):
    image.take(contents(**arrays), text)
    return bytes(image.seal())


def read(data):
    """The text and the arrays by label, with sums compared."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert file.testzip() is None
        names = file.namelist()
        text, arrays = file.read(names[0]), {n: np.load(io.BytesIO(file.read(n))) for n in names[1:]}
    return text.rstrip(b" "), {name.split(".", 1)[1][:-4]: values for name, values in arrays.items()}


ARRAYS = {
    "a": RNG.random((5, 3), np.float32), "b": np.arange(7, dtype=np.uint8), "c": np.zeros((0, 3)),
    "d": np.array(2.5), "e": RNG.random(1001), "f": np.arange(3, dtype=">i2"), "g": np.array([True, False]),
}  # fmt: skip


def test_the_file_is_an_archive_of_whole_pages_that_numpy_reads():
    data = bytes_of(FileImage(), ARRAYS, b'{"x": 1}')
    text, arrays = read(data)
    assert text == b'{"x": 1}' and len(data) % PAGE == 0
    for name, values in ARRAYS.items():
        assert arrays[name].dtype == values.dtype and np.array_equal(arrays[name], values)


def test_every_save_is_the_file_that_a_new_image_makes():
    """Whatever changes: numbers, shapes, types, how many arrays there are, the length of the text."""
    image, arrays, text = FileImage(), dict(ARRAYS), b"{}"
    for k in range(60):
        name = "abcdefgh"[RNG.integers(8)]
        size = int(RNG.integers(20)) if RNG.random() < 0.3 else arrays.get(name, np.zeros(3)).size
        change = RNG.random()
        if change < 0.5:
            arrays[name] = RNG.random(size).astype(RNG.choice(["f4", "f8", "i4"]))
        elif change < 0.6:
            arrays.pop(name, None)
        elif change < 0.8:
            text = b"x" * int(RNG.integers(3 * PAGE))
        data = bytes_of(image, arrays, text)
        assert data == bytes_of(FileImage(), arrays, text), k
        assert read(data)[0] == text


def test_an_array_that_changes_at_times_is_always_as_it_is_now():
    image, a = FileImage(), np.arange(4.0)
    for value in (0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 0.0, -0.0, np.nan, np.nan):
        a[2] = value
        assert read(bytes_of(image, {"a": a}))[1]["a"].tobytes() == a.tobytes()


def test_contents_are_those_of_the_moment():
    image, a = FileImage(), np.zeros(5)
    image.take(contents(a=a), b"{}")
    a[:] = 1.0
    assert not read(bytes(image.seal()))[1]["a"].any()


def test_what_nobody_can_write_to_is_looked_at_once():
    image, a, b = FileImage(), np.arange(9.0), np.arange(9.0)
    image.take([Content("a", a, True)], b"{}")
    a[3] = 5.0  # as nobody can
    image.take([Content("a", a, True)], b"{}")
    assert read(bytes(image.seal()))[1]["a"][3] == 3.0
    b[3] = 6.0
    image.take([Content("a", b, True)], b"{}")
    assert read(bytes(image.seal()))[1]["a"][3] == 6.0


def test_sums_are_made_again_of_what_changed_alone(monkeypatch):
    image, arrays, sizes = FileImage(), {"a": np.zeros(1000), "b": np.zeros(500)}, []
    crc32 = image_module.zlib.crc32
    bytes_of(image, arrays), bytes_of(image, arrays)
    monkeypatch.setattr(image_module.zlib, "crc32", lambda data, *more: sizes.append(len(data)) or crc32(data, *more))
    arrays["b"][7] = 1.0
    bytes_of(image, arrays)
    assert 4000 in sizes and 8000 not in sizes
    sizes.clear()
    bytes_of(image, {**arrays, "c": np.zeros(250)})
    assert 2000 in sizes and 8000 not in sizes, "other members know their sums"


@pytest.mark.parametrize("limit, most", [(200, 65535), (1500, 65535), (1 << 32, 3), (0, 0)])
def test_numbers_of_64_bits(limit, most, monkeypatch):
    """Sizes and places from a limit on that stands for 4 GiB, and counts, go into fields of their own."""
    plain = bytes_of(FileImage(), ARRAYS)
    monkeypatch.setattr(image_module, "_FULL", limit)
    monkeypatch.setattr(image_module, "_MANY", most)
    data = bytes_of(FileImage(), ARRAYS)
    text, arrays = read(data)
    assert data != plain and text == b"{}"
    assert all(np.array_equal(arrays[name], values) for name, values in ARRAYS.items())


@pytest.mark.parametrize("label", ["ünï/cø\0dé", "x" * 70_000, "..\\..\\x", "\ud800", "t = 0"])
def test_names_of_members_are_plain_and_short(label):
    name = member_name(3, label)
    assert name.isascii() and len(name) < 220 and "/" not in name and "\\" not in name and "\0" not in name
    assert read(bytes_of(FileImage(), {label: np.ones(2)}))[1]
