"""The disk cache among other users: what they put into the folder, or could have changed, is never run."""

import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from warpsim.core.emit.disk import cache
from warpsim.core.emit.disk.cache import ObjectCache, is_private

ROOT = Path(cache.__file__).parents[4]
pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners on this platform")


@pytest.fixture
def store(tmp_path):
    made = ObjectCache(tmp_path / "objects", 1 << 30)
    made.store("key", b"payload", "label")
    return made


def entry(store) -> Path:
    return store.directory / "key.wscode"


def linked(path, tmp_path):
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")


def pipe(path, tmp_path):
    path.unlink()
    os.mkfifo(path)


def folder(path, tmp_path):
    path.unlink()
    path.mkdir()


def socket(path, tmp_path):
    path.unlink()
    os.mknod(path, stat.S_IFSOCK | 0o600)


ATTACKS = {
    "others may write": lambda path, _: path.chmod(0o666),
    "the group may write": lambda path, _: path.chmod(0o660),
    "a link": linked,
    "a pipe": pipe,
    "a folder": folder,
    "a socket": socket,
}


@pytest.mark.parametrize("umask", [0, 0o002, 0o077])
def test_entries_are_their_owners_alone(tmp_path, umask):
    before = os.umask(umask)
    try:
        store = ObjectCache(tmp_path / "objects", 1 << 30)
        store.store("key", b"payload", "label")
    finally:
        os.umask(before)
    assert stat.S_IMODE(entry(store).stat().st_mode) == 0o600
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700
    assert store.load("key") == b"payload"


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_others_could_have_written_is_not_loaded(store, tmp_path, attack, caplog):
    ATTACKS[attack](entry(store), tmp_path)
    with caplog.at_level(logging.WARNING, "warpsim.cache"):
        assert [store.load("key") for _ in range(3)] == [None] * 3
    assert len(caplog.records) == 1 and "key.wscode" in caplog.text and "is not loaded" in caplog.text
    assert attack == "a link" or len(store.entries()) == 0
    store.store("key", b"made again", "label")
    assert store.load("key") == (None if attack == "a folder" else b"made again")
    if attack == "a link":
        assert b"payload" in (tmp_path / "elsewhere").read_bytes()
    assert isinstance(store.size(), int) and store.clear() >= 0


def test_entries_of_other_users_are_not_loaded(store, monkeypatch, caplog):
    user = os.geteuid()
    os.chown(entry(store), user or 4321, -1)
    monkeypatch.setattr(cache.os, "geteuid", lambda: user + 1)
    with caplog.at_level(logging.WARNING, "warpsim.cache"):
        assert store.load("key") is None
    assert "belongs to another user" in caplog.text


def status_of(uid, mode=0o100600):
    return os.stat_result((mode, 0, 0, 1, uid, 0, 0, 0, 0, 0))


def test_root_is_trusted_and_nobody_who_may_write(monkeypatch):
    """As SECURITY.md says."""
    monkeypatch.setattr(cache.os, "geteuid", lambda: 1000)
    assert [cache._reason_against(status_of(uid)) for uid in (1000, 0)] == ["", ""]
    assert "another user (uid 1001)" in cache._reason_against(status_of(1001))
    for uid in (1000, 0):
        for mode in (0o100620, 0o100602):
            assert cache._reason_against(status_of(uid, mode)) == "can be written by other users"


def test_where_there_are_no_owners_nothing_is_looked_at(monkeypatch):
    monkeypatch.delattr(cache.os, "geteuid")
    assert cache._reason_against(status_of(1001, 0o100666)) == ""


def test_an_entry_under_a_foreign_name_is_not_loaded(store):
    """Who can write to the folder can rename entries, which are their owner's all the same."""
    entry(store).rename(store.directory / "other.wscode")
    assert store.load("other") is None


def test_every_damaged_byte_is_found(store):
    content = entry(store).read_bytes()
    for k in range(len(content)):
        entry(store).write_bytes(content[:k] + bytes([content[k] ^ 16]) + content[k + 1 :])
        assert store.load("key") is None, k
        store.store("key", b"payload", "label")
        entry(store).write_bytes(content[:k])
        assert store.load("key") is None, k
        store.store("key", b"payload", "label")
    assert store.load("key") == b"payload"


def test_a_full_disk_is_one_warning(store, monkeypatch, caplog):
    def full(path, content):
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "_write", full)
    with caplog.at_level(logging.WARNING, "warpsim.cache"):
        for k in range(3):
            store.store(f"other{k}", b"payload", "label")
    assert len(caplog.records) == 1 and "No space left" in caplog.text
    assert [path.name for path in store.directory.iterdir()] == ["key.wscode"]


def test_a_temporary_file_that_is_there_is_not_written_through(store, tmp_path, monkeypatch):
    target = tmp_path / "victim"
    target.write_bytes(b"untouched")
    monkeypatch.setattr(cache.os, "urandom", lambda count: bytes(count))
    (store.directory / f"new-{os.getpid()}-{bytes(6).hex()}.wscode-tmp").symlink_to(target)
    store.store("new", b"payload", "label")
    assert target.read_bytes() == b"untouched" and store.load("new") is None


def test_folders_in_which_others_can_rename_are_not_private(tmp_path):
    for mode, expected in ((0o700, True), (0o755, True), (0o777, False), (0o770, False), (0o1777, True)):
        tmp_path.chmod(mode)
        assert is_private(tmp_path) is expected
    tmp_path.chmod(0o700)
    assert not is_private(tmp_path / "missing")


RACE = """
import sys
from pathlib import Path
from warpsim.core.emit.disk.cache import ObjectCache
store = ObjectCache(Path(sys.argv[1]), 1 << 30)
for k in range(300):
    payload = bytes([k % 7]) * 3000
    assert store.load(str(k % 7)) in (None, payload)
    store.store(str(k % 7), payload, "entry")
"""


def test_two_processes_and_somebody_who_opens_entries(tmp_path):
    """An entry that is made writable at any moment is refused or whole, never another's."""
    folder = tmp_path / "shared"
    command = [sys.executable, "-c", RACE, str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(2)]
    while any(process.poll() is None for process in running):
        for path in folder.glob("*.wscode"):
            try:
                path.chmod(0o666)
            except FileNotFoundError:
                continue
    for process in running:
        errors = process.communicate()[1].decode()
        assert process.returncode == 0, errors
