"""The disk cache: exact round trips, damage never loaded, many processes, bounded size."""

import hashlib
import logging
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warpsim.core.emit.disk import cache
from warpsim.core.emit.disk.cache import ObjectCache, default_directory

ROOT = Path(cache.__file__).parents[4]
LARGE = 1 << 30


def key_of(text: object) -> str:
    return hashlib.sha256(str(text).encode()).hexdigest()


@pytest.fixture
def store(tmp_path):
    return ObjectCache(tmp_path / "objects", LARGE)


def only_file(store: ObjectCache) -> Path:
    (path,) = store.directory.iterdir()
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(payload=st.binary(max_size=300), label=st.text(max_size=40))
def test_what_was_stored_is_loaded(store, payload, label):
    key = key_of((payload, label))
    store.store(key, payload, label)
    assert store.load(key) == payload
    readable = label.encode("utf-8", "backslashreplace").decode()
    assert readable in {entry.label for entry in store.entries() if entry.key == key}


def test_missing_entry_and_missing_folder_give_none(store):
    assert store.load(key_of("nothing")) is None
    assert store.entries() == []
    assert store.size() == 0
    assert store.clear() == 0
    assert not store.directory.exists()


def test_later_store_replaces_earlier(store):
    store.store("key", b"first", "one")
    store.store("key", b"second", "two")
    assert store.load("key") == b"second"
    assert [entry.label for entry in store.entries()] == ["two"]


def test_layout_is_the_documented_one(store):
    store.store("a-key", b"payload", "läbel")
    content = only_file(store).read_bytes()
    label = "läbel".encode()
    head = b"warpsim\n" + struct.pack("<IIQ", 1, len(label), 7)
    digest = hashlib.sha256(head + b"a-key" + label + b"payload").digest()
    assert content == head + digest + label + b"payload"
    assert only_file(store).name == "a-key.wscode"


@pytest.mark.parametrize("kept", [0, 5, 23, 55, 56, 60, 68, -1])
def test_truncated_entry_is_removed_and_not_loaded(store, kept):
    store.store("key", b"payload bytes", "label")
    path = only_file(store)
    path.write_bytes(path.read_bytes()[:kept])
    assert store.load("key") is None
    assert not path.exists()
    store.store("key", b"again", "label")
    assert store.load("key") == b"again"


def test_any_changed_byte_is_noticed(store):
    store.store("key", b"payload", "label")
    path = only_file(store)
    good = path.read_bytes()
    for position in range(len(good)):
        path.write_bytes(good[:position] + bytes([good[position] ^ 0x40]) + good[position + 1 :])
        assert store.load("key") is None, f"byte {position}"


def test_appended_bytes_are_noticed(store):
    store.store("key", b"payload", "label")
    path = only_file(store)
    path.write_bytes(path.read_bytes() + b"\0")
    assert store.load("key") is None


def test_entry_under_another_key_is_foreign(store):
    store.store("one", b"payload", "label")
    only_file(store).rename(store.directory / "two.wscode")
    assert store.load("two") is None


@pytest.mark.parametrize("key", ["", "a/b", "../up", "a.b", "k" * 201, "ключ"])
def test_key_that_is_no_file_name_is_refused(store, key):
    with pytest.raises(ValueError, match="hexadecimal digest"):
        store.load(key)
    with pytest.raises(ValueError, match="hexadecimal digest"):
        store.store(key, b"", "")


def test_entries_tell_key_label_bytes_and_last_use(store):
    for age, name in enumerate(("new", "middle", "old")):
        store.store(name, bytes(100 * age), f"kernel {name}")
        set_age(store, name, 1000.0 * (age + 1))
    found = store.entries()
    assert [entry.key for entry in found] == ["new", "middle", "old"]
    assert [entry.label for entry in found] == ["kernel new", "kernel middle", "kernel old"]
    assert sum(entry.bytes for entry in found) == store.size()
    store.load("old")
    assert store.entries()[0].key == "old"
    assert abs(store.entries()[0].last_used - time.time()) < 60


def test_other_people_s_files_are_neither_listed_nor_removed(store):
    store.store("key", b"payload", "label")
    others = [store.directory / name for name in ("notes.txt", "key.wscode.bak", "x.py")]
    for path in others:
        path.write_text("mine")
    (store.directory / "junk.wscode").write_bytes(b"not an entry")
    assert [entry.key for entry in store.entries()] == ["key"]
    assert store.clear() == 2
    assert sorted(store.directory.iterdir()) == sorted(others)


def test_least_recently_used_entries_are_pruned(tmp_path):
    store = ObjectCache(tmp_path, 10_000)
    for i in range(9):
        store.store(f"k{i}", bytes(1000), "label")
        set_age(store, f"k{i}", 1000.0 - i)
    assert len(store.entries()) == 9
    store.load("k0")  # the oldest becomes the youngest
    store.store("k9", bytes(1000), "label")
    keys = {entry.key for entry in store.entries()}
    assert store.size() <= 7500
    assert {"k0", "k9", "k8"} <= keys
    assert not {"k1", "k2", "k3"} & keys


def test_size_stays_bounded_over_many_stores(tmp_path):
    store = ObjectCache(tmp_path, 20_000)
    for i in range(100):
        store.store(f"k{i}", bytes(700 + i), "label")
        assert store.size() <= 20_000
        assert store.load(f"k{i}") is not None


def test_entry_larger_than_the_cache_is_not_stored(tmp_path):
    store = ObjectCache(tmp_path, 1000)
    store.store("small", bytes(100), "label")
    store.store("large", bytes(1000), "label")
    assert [entry.key for entry in store.entries()] == ["small"]


def test_stale_temporary_files_are_swept_and_fresh_ones_left(tmp_path):
    stale, fresh = tmp_path / "a.wscode-tmp", tmp_path / "b.wscode-tmp"
    for path in (stale, fresh):
        path.write_bytes(b"half an entr")
    os.utime(stale, (time.time() - 7200,) * 2)
    store = ObjectCache(tmp_path, LARGE)
    store.store("key", b"payload", "label")
    assert not stale.exists()
    assert fresh.exists()
    assert [entry.key for entry in store.entries()] == ["key"]
    store.clear()
    assert not fresh.exists()


def test_store_leaves_no_temporary_file(store):
    store.store("key", b"payload", "label")
    assert [path.name for path in store.directory.iterdir()] == ["key.wscode"]


def test_folder_that_is_a_file_only_costs_time(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    store = ObjectCache(tmp_path / "file", LARGE)
    with caplog.at_level(logging.DEBUG, "warpsim.cache"):
        store.store("key", b"payload", "label")
    assert len(caplog.records) == 1
    assert "cannot store" in caplog.text
    assert store.load("key") is None
    assert store.entries() == []
    assert store.clear() == 0


def test_read_only_folder_only_costs_time(tmp_path, monkeypatch, caplog):
    store = ObjectCache(tmp_path, LARGE)
    store.store("key", b"payload", "label")

    def refuse(*args, **kwargs):
        raise PermissionError(13, "read-only file system")

    # By patching and not by chmod, which does not stop the superuser.
    for name in ("utime", "replace"):
        monkeypatch.setattr(cache.os, name, refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    monkeypatch.setattr(cache, "_write", refuse)
    with caplog.at_level(logging.DEBUG, "warpsim.cache"):
        assert store.load("key") == b"payload"
        store.store("other", b"payload", "label")
    assert len(caplog.records) == 2
    assert store.load("other") is None
    assert store.clear() == 0


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners on this platform")
def test_entry_of_another_user_is_not_loaded(store, monkeypatch):
    store.store("key", b"payload", "label")
    owner = only_file(store).stat().st_uid
    for user, expected in ((owner, b"payload"), (owner + 1, b"payload" if owner == 0 else None)):
        monkeypatch.setattr(cache.os, "geteuid", lambda user=user: user)
        assert store.load("key") == expected


def test_many_threads_share_one_cache(tmp_path):
    store = ObjectCache(tmp_path, LARGE)
    failures = []

    def work():
        for i in range(60):
            key, payload = key_of(i % 20), bytes([i % 20]) * 500
            if store.load(key) not in (None, payload):
                failures.append(i)
            store.store(key, payload, f"entry {i % 20}")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(store.entries()) == 20


FILL = """
import sys, hashlib
from pathlib import Path
from warpsim.core.emit.disk.cache import ObjectCache
store = ObjectCache(Path(sys.argv[1]), int(sys.argv[2]))
for i in range(int(sys.argv[3])):
    key = hashlib.sha256(str(i).encode()).hexdigest()
    payload = str(i).encode() * 2000
    found = store.load(key)
    assert found in (None, payload), "a wrong payload was loaded"
    store.store(key, payload, f"entry {i}")
print("done")
"""


def start(script: str, *arguments: object) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("max_bytes", [LARGE, 60_000], ids=["roomy", "pruning"])
def test_sixteen_processes_fill_one_empty_cache(tmp_path, max_bytes):
    processes = [start(FILL, tmp_path / "shared", max_bytes, 25) for _ in range(16)]
    for process in processes:
        output, errors = process.communicate(timeout=300)
        assert (process.returncode, output, errors) == (0, "done\n", "")
    store = ObjectCache(tmp_path / "shared", max_bytes)
    names = {path.suffix for path in store.directory.iterdir()}
    assert names == {".wscode"}
    if max_bytes == LARGE:
        assert len(store.entries()) == 25
    for entry in store.entries():
        number = entry.label.removeprefix("entry ").encode()
        assert store.load(entry.key) == number * 2000


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this platform")
def test_killed_writers_leave_a_usable_cache(tmp_path):
    script = FILL.replace("* 2000", "* 2000000").replace('print("done")', "")
    for delay in (0.0, 0.001, 0.02):
        process = start(script, tmp_path, LARGE, 10_000)
        while not any(path.suffix == ".wscode-tmp" for path in tmp_path.iterdir()):
            assert process.poll() is None, process.communicate()[1]
        time.sleep(delay)
        process.kill()
        process.communicate(timeout=300)
        for path in tmp_path.glob("*.wscode-tmp"):
            path.rename(path.with_suffix(".left"))  # so that the next round waits for its own
    store = ObjectCache(tmp_path, LARGE)
    for i in range(3):
        payload = str(i).encode() * 2_000_000
        assert store.load(key_of(i)) in (None, payload)
        store.store(key_of(i), payload, f"entry {i}")
        assert store.load(key_of(i)) == payload


def test_store_that_is_interrupted_leaves_nothing(store, monkeypatch):
    store.directory.mkdir()

    def interrupt(path, content):
        path.touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(cache, "_write", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.store("key", b"payload", "label")
    assert list(store.directory.iterdir()) == []


def test_default_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("WARPSIM_CACHE_PATH", str(tmp_path / "chosen"))
    assert default_directory() == tmp_path / "chosen"
    monkeypatch.setenv("WARPSIM_CACHE_PATH", "~/kernels")
    assert default_directory() == Path.home() / "kernels"


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x/cache"}, "/x/cache/warpsim"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/warpsim"),
        ("linux", {}, "/home/me/.cache/warpsim"),
        ("darwin", {}, "/home/me/Library/Caches/warpsim"),
        ("win32", {"LOCALAPPDATA": "/x/local"}, "/x/local/warpsim"),
        ("win32", {}, "/home/me/AppData/Local/warpsim"),
    ],
)
def test_default_folder_of_each_platform(monkeypatch, platform, variables, expected):
    for name in ("WARPSIM_CACHE_PATH", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(cache.sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    assert default_directory() == Path(expected)


def test_default_folder_without_a_home(monkeypatch):
    def no_home():
        raise RuntimeError("could not determine home directory")

    for name in ("WARPSIM_CACHE_PATH", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert default_directory().name.startswith("warpsim-")


def set_age(store: ObjectCache, key: str, seconds: float) -> None:
    moment = time.time() - seconds
    os.utime(store.directory / f"{key}.wscode", (moment, moment))
