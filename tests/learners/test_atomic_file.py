"""Saving replaces a file as its owner would want; the old one or the new one is there, whole."""

import errno
import multiprocessing
import os
import random
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from effort import FULL
from headwater.learners.atomic_file import LEFT_OVER, atomic_file, write_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX rights and links")

KILLS = 500 if FULL else 15


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


# What is there already


def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    target, link = tmp_path / "models/v1.hw", tmp_path / "current.hw"
    target.write_bytes(b"old")
    link.symlink_to("models/v1.hw")
    hw.PAA().save(link)
    assert link.is_symlink()
    assert target.read_bytes() == hw.PAA().to_bytes()
    assert names(tmp_path) == {"models", "current.hw"}
    assert names(tmp_path / "models") == {"v1.hw"}


def test_a_link_to_a_file_that_is_not_there_yet_makes_it(tmp_path: Path) -> None:
    (tmp_path / "current.hw").symlink_to(tmp_path / "new.hw")
    hw.PAA().save(tmp_path / "current.hw")
    assert (tmp_path / "current.hw").is_symlink()
    assert (tmp_path / "new.hw").read_bytes() == hw.PAA().to_bytes()


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.hw").symlink_to(tmp_path / "b.hw")
    (tmp_path / "b.hw").symlink_to(tmp_path / "a.hw")
    with pytest.raises(OSError, match=r"a\.hw"):
        hw.PAA().save(tmp_path / "a.hw")
    assert names(tmp_path) == {"a.hw", "b.hw"}


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def make_device(path: Path) -> None:
    path.symlink_to("/dev/null")


@pytest.mark.parametrize(
    ("make", "said"),
    [(make_pipe, "a pipe"), (make_socket, "a socket"), (make_device, "a device")],
)
def test_what_is_no_regular_file_is_refused_and_stays(
    make: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.hw"
    make(path)
    before = path.stat()
    with pytest.raises(OSError, match=f"expected a regular file or a new name, got {said}"):
        hw.PAA().save(path)
    assert os.path.samestat(before, path.stat())
    assert names(tmp_path) == {"model.hw"}


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        hw.PAA().save(tmp_path)
    with pytest.raises(IsADirectoryError):
        hw.PAA().save("")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o666, 0o200])
def test_the_rights_of_a_file_stay_as_they_were(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "model.hw"
    path.write_bytes(b"old")
    path.chmod(mode)
    hw.PAA().save(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_what_is_being_written_is_not_readable_by_others(tmp_path: Path) -> None:
    path = tmp_path / "model.hw"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with atomic_file(path) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_root_leaves_a_file_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "model.hw"
    path.write_bytes(b"old")
    os.chown(path, 12_345, 23_456)
    hw.PAA().save(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (12_345, 23_456)


def test_a_read_only_file_is_refused_even_for_root(tmp_path: Path) -> None:
    path = tmp_path / "model.hw"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="it is read-only"):
        hw.PAA().save(path)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == {"model.hw"}


@pytest.mark.parametrize("length", [239, 240, 250, 255])
def test_a_long_name_is_as_good_as_a_short_one(length: int, tmp_path: Path) -> None:
    path = tmp_path / ("n" * (length - 3) + ".hw")
    for _ in range(2):
        hw.PAA().save(path)
        assert names(tmp_path) == {path.name}
    with pytest.raises(OSError, match="too long"):
        hw.PAA().save(tmp_path / ("n" * 256))


# Left-overs


def left_over(folder: Path, process: int) -> Path:
    path = folder / f".hw-{process}-0123456789abcdef.tmp"
    path.write_bytes(b"half")
    return path


def dead_process() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_the_left_over_of_a_dead_process_is_removed_by_the_next_save(tmp_path: Path) -> None:
    left_over(tmp_path, dead_process())
    hw.PAA().save(tmp_path / "model.hw")
    assert names(tmp_path) == {"model.hw"}


def test_the_file_of_a_living_process_stays(tmp_path: Path) -> None:
    kept = left_over(tmp_path, os.getppid())
    hw.PAA().save(tmp_path / "model.hw")
    assert kept.exists()


def test_a_file_that_is_held_stays_though_its_process_cannot_be_seen(tmp_path: Path) -> None:
    import fcntl

    kept = left_over(tmp_path, dead_process())  # as of a process in another container
    os.utime(kept, (0, 0))
    with kept.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        hw.PAA().save(tmp_path / "model.hw")
        assert kept.exists()
    hw.PAA().save(tmp_path / "model.hw")
    assert not kept.exists()


def test_a_number_that_another_process_has_now_does_not_keep_a_left_over_for_ever(
    tmp_path: Path,
) -> None:
    old = left_over(tmp_path, os.getpid())
    os.utime(old, (time.time() - 100, time.time() - 100))
    hw.PAA().save(tmp_path / "model.hw")
    assert not old.exists()


@pytest.mark.parametrize(
    "name", [".hw-12-notes.tmp", ".hw-x-0123456789abcdef.tmp", "hw-1-0123456789abcdef.tmp"]
)
def test_a_file_of_another_name_is_none_of_ours(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"mine")
    os.utime(tmp_path / name, (0, 0))
    hw.PAA().save(tmp_path / "model.hw")
    assert names(tmp_path) == {name, "model.hw"}


SAVE_FOR_EVER = """
import sys
import headwater as hw

model = hw.PAA()
model.learn_one({number: 1.0 for number in range(3_000)}, True)
model.save(sys.argv[1])
print("saved", flush=True)
while True:
    model.learn_one({0: 1.0}, False)
    model.save(sys.argv[1])
"""


def test_a_process_killed_while_it_saves_leaves_a_whole_file_and_the_next_one_cleans_up(
    tmp_path: Path,
) -> None:
    path = tmp_path / "model.hw"
    chance = random.Random(1)
    learned, left = [], 0
    for _ in range(KILLS):
        path.unlink(missing_ok=True)
        saving = subprocess.Popen(
            [sys.executable, "-c", SAVE_FOR_EVER, str(path)], stdout=subprocess.PIPE
        )
        assert saving.stdout is not None
        assert saving.stdout.readline() == b"saved\n"
        time.sleep(chance.uniform(0, 0.02))
        saving.kill()
        saving.wait()
        saving.stdout.close()
        learned.append(hw.load(path).learned)
        left += len(names(tmp_path)) - 1
        hw.PAA().save(tmp_path / "other.hw")
        assert names(tmp_path) == {"model.hw", "other.hw"}
        (tmp_path / "other.hw").unlink()
    assert len(set(learned)) > 1
    print(f"{KILLS} kills, {left} left-overs, all removed; {len(set(learned))} models")


# Disks and other writers


@pytest.mark.parametrize("verb", ["open", "fchmod", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS])
def test_whatever_the_disk_refuses_the_old_file_stays_and_nothing_else(
    verb: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.hw"
    path.write_bytes(b"old")

    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, verb, refuse)
        with pytest.raises(OSError, match=os.strerror(number)) as caught:
            hw.PAA().save(path)
    assert caught.value.errno == number
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == {"model.hw"}


def test_a_folder_that_cannot_be_synchronised_is_good_enough_and_one_that_fails_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "model.hw", os.fsync
    for number in (errno.EINVAL, errno.EIO):

        def fsync(opened: int, number: int = number) -> None:
            if stat.S_ISDIR(os.fstat(opened).st_mode):
                raise OSError(number, os.strerror(number))
            real(opened)

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fsync)
            if number == errno.EIO:
                with pytest.raises(OSError, match=r"model\.hw"):
                    hw.PAA().save(path)
            else:
                hw.PAA().save(path)
        assert names(tmp_path) == {"model.hw"}


def test_an_error_on_the_way_leaves_the_old_file_and_keeps_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "model.hw"
    path.write_bytes(b"old")

    def write_half(error: BaseException) -> None:
        with atomic_file(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(FileNotFoundError, match=r"input\.csv"):
        write_half(FileNotFoundError(errno.ENOENT, "not there", "input.csv"))
    with pytest.raises(KeyboardInterrupt):
        write_half(KeyboardInterrupt())
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == {"model.hw"}


def save_often(path: str, model: bytes) -> None:
    learner = hw.from_bytes(model)
    for _ in range(20):
        learner.save(path)


def test_threads_and_processes_may_save_to_the_same_path(tmp_path: Path) -> None:
    path = tmp_path / "model.hw"
    models = [hw.PAA(C=C).to_bytes() for C in (0.1, 0.2, 0.3, 0.4)]
    path.write_bytes(models[0])
    spawn = multiprocessing.get_context("spawn")
    writers: list[Any] = [
        spawn.Process(target=save_often, args=(str(path), one)) for one in models[:2]
    ]
    writers += [threading.Thread(target=save_often, args=(str(path), one)) for one in models[2:]]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(path.read_bytes())
    for writer in writers:
        writer.join()
    assert seen <= set(models)
    assert names(tmp_path) == {"model.hw"}


def test_a_path_that_is_no_text_is_refused() -> None:
    wrong: Any = 7
    with pytest.raises(TypeError):
        write_file(wrong, b"")


def test_left_overs_are_known_by_their_whole_name() -> None:
    assert LEFT_OVER.fullmatch(f".hw-{os.getpid()}-0123456789abcdef.tmp")
