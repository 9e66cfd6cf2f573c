"""What a file was, it stays: its mode, its owner, its links; and what is none."""

import os
import re
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from rhokit.cli.failures import UserError
from rhokit.cli.writers import written
from rhokit.io import atomic
from rhokit.io.atomic import replacing, write_atomically

HOURS = 3600
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def write_bytes(path, text):
    write_atomically(path, text.encode())


def write_table(path, text):
    with written(path) as give:
        give(pa.table({"text": [text]}))


# The library's writer and the program's: what holds of one holds of the other.
both = pytest.mark.parametrize("write", [write_bytes, write_table])


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def path(tmp_path):
    """A file that is there already."""
    path = tmp_path / "old.csv"
    path.write_text("old")
    return path


@pytest.fixture(autouse=True)
def no_folder_was_looked_through(monkeypatch):
    monkeypatch.setattr(atomic, "_LOOKED_THROUGH", {})


@both
class TestKept:
    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755, 0o444])
    def test_mode(self, path, write, mode):
        path.chmod(mode)
        write(path, "new")
        assert "new" in path.read_text()
        assert mode_of(path) == mode

    @pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
    def test_new_files_follow_the_mask(self, tmp_path, write, mask):
        path, before = tmp_path / "new.csv", os.umask(mask)
        try:
            write(path, "new")
        finally:
            os.umask(before)
        assert mode_of(path) == 0o666 & ~mask

    @pytest.mark.skipif(not ROOT, reason="only root gives files away")
    def test_owner_and_group(self, path, write):
        os.chown(path, 1234, 2345)
        path.chmod(0o640)
        write(path, "new")
        found = path.stat()
        assert (found.st_uid, found.st_gid) == (1234, 2345)
        assert mode_of(path) == 0o640

    def test_links(self, tmp_path, path, write):
        link, second = tmp_path / "link.csv", tmp_path / "second.csv"
        link.symlink_to(path.name)
        second.symlink_to(link)
        write(second, "new")
        assert link.is_symlink()
        assert second.is_symlink()
        assert "new" in path.read_text()
        assert sorted(tmp_path.iterdir()) == sorted([path, link, second])

    def test_links_to_nothing_yet(self, tmp_path, write):
        (tmp_path / "folder").mkdir()
        link, target = tmp_path / "link.csv", tmp_path / "folder" / "new.csv"
        link.symlink_to(target)
        write(link, "new")
        assert link.is_symlink()
        assert "new" in target.read_text()
        assert os.listdir(tmp_path / "folder") == ["new.csv"]

    @pytest.mark.parametrize("length", [241, 255])
    def test_long_names(self, tmp_path, write, length):
        path = tmp_path / ("n" * (length - 4) + ".csv")
        for text in ("first", "second"):
            write(path, text)
            assert text in path.read_text()
        assert os.listdir(tmp_path) == [path.name]


class TestGroups:
    """Files that cannot be given to their old group are not opened to another."""

    @pytest.mark.parametrize(
        ("old", "new"), [(0o660, 0o600), (0o664, 0o644), (0o640, 0o600), (0o666, 0o666)]
    )
    def test_lost(self, monkeypatch, path, old, new):
        def refuse(*arguments):
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "fchown", refuse)
        path.chmod(old)
        known = list(path.stat())
        known[stat.ST_GID] += 1
        with open(path, "rb") as file:
            atomic.keep_access(file.fileno(), os.stat_result(known))
        assert mode_of(path) == new

    def test_kept_where_the_owner_cannot_be(self, monkeypatch, path):
        asked = []

        def refuse_owners(descriptor, owner, group):
            asked.append((owner, group))
            if owner != -1:
                raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "fchown", refuse_owners)
        path.chmod(0o660)
        known = path.stat()
        write_bytes(path, "new")
        assert asked == [(known.st_uid, known.st_gid), (-1, known.st_gid)]
        assert mode_of(path) == 0o660


@both
class TestRefused:
    def test_a_pipe(self, tmp_path, write):
        path = tmp_path / "pipe.csv"
        os.mkfifo(path)
        with pytest.raises((OSError, ValueError), match="regular file"):
            write(path, "new")
        assert stat.S_ISFIFO(path.stat().st_mode)
        assert list(tmp_path.iterdir()) == [path]

    def test_a_device(self, tmp_path, write):
        """Through a link, so that nothing is lost where it is not refused."""
        path = tmp_path / "null.csv"
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            path.symlink_to("/dev/null")
        with pytest.raises((OSError, ValueError), match="regular file"):
            write(path, "new")
        assert stat.S_ISCHR(path.stat().st_mode)
        assert list(tmp_path.iterdir()) == [path]

    def test_links_in_a_ring(self, tmp_path, write):
        path, other = tmp_path / "one.csv", tmp_path / "two.csv"
        path.symlink_to(other)
        other.symlink_to(path)
        with pytest.raises((OSError, ValueError), match="symbolic links"):
            write(path, "new")
        assert path.is_symlink()


@both
class TestAtOnce:
    def test_threads_that_write_and_one_that_reads(self, path, write):
        """Every file that is met is one of those that were written, and whole."""
        texts = ["a" * 10, "b" * 3_000, "c" * 300_000]
        write(path, "a" * 10)
        done, broken = threading.Event(), []

        def save(text):
            for _ in range(25):
                write(path, text)

        def read():
            while not done.is_set():
                found = path.read_text().removeprefix("text\n").rstrip("\n")
                if found not in texts:
                    broken.append(found[:40])

        with ThreadPoolExecutor(4) as pool:
            reading = pool.submit(read)
            saving = [pool.submit(save, text) for text in texts]
            try:
                for each in saving:
                    each.result()
            finally:
                done.set()
            reading.result()
        assert not broken
        assert os.listdir(path.parent) == [path.name]


class TestOrphans:
    """Killed writers leave files, which the next ones clear away."""

    @staticmethod
    def orphan(folder, age, name=".rhokit-0123456789abcdef.tmp"):
        path = folder / name
        path.write_text("half")
        then = time.time() - age
        os.utime(path, (then, then))
        return path

    @both
    def test_of_some_age_are_removed(self, path, write):
        orphan = self.orphan(path.parent, 2 * HOURS)
        write(path, "new")
        assert not orphan.exists()

    def test_are_named_like_what_a_killed_writer_leaves(self, path):
        with replacing(path) as file:
            (left,) = set(os.listdir(path.parent)) - {path.name}
            file.write(b"new")
        example = self.orphan(path.parent, 0).name
        pattern = re.compile(re.sub("[0-9a-f]{16}", "[0-9a-f]{16}", re.escape(example)))
        assert pattern.fullmatch(left)

    @pytest.mark.parametrize(
        ("age", "name"),
        [
            (10, ".rhokit-0123456789abcdef.tmp"),
            (2 * HOURS, ".rhokit-of-mine.tmp"),
            (2 * HOURS, "rhokit-0123456789abcdef.tmp"),
            (2 * HOURS, ".rhokit-0123456789abcdef.tmp.csv"),
        ],
    )
    def test_others_stay(self, path, age, name):
        other = self.orphan(path.parent, age, name)
        write_bytes(path, "new")
        assert other.exists()

    def test_what_is_still_written_stays(self, path):
        """However long it takes."""
        slow = path.with_name("slow.csv")
        with replacing(slow) as file:
            (fresh,) = path.parent.glob(".rhokit-*")
            os.utime(fresh, (0, 0))
            write_bytes(path, "new")
            assert fresh.exists()
            file.write(b"slow")
        assert slow.read_bytes() == b"slow"

    def test_links_stay(self, path, tmp_path):
        link = tmp_path / ".rhokit-0123456789abcdef.tmp"
        link.symlink_to(path)
        os.utime(link, (0, 0), follow_symlinks=False)
        write_bytes(path, "new")
        assert link.is_symlink()

    def test_what_cannot_be_opened_stays(self, path, monkeypatch):
        def refuse(*arguments):
            raise PermissionError(1, "Operation not permitted")

        orphan = self.orphan(path.parent, 2 * HOURS)
        monkeypatch.setattr(atomic, "_open_without_waiting", refuse)
        write_bytes(path, "new")
        assert orphan.exists()

    def test_folders_that_were_looked_through_are_forgotten(self, path, monkeypatch):
        """Programs that save into ever more folders do not grow."""
        monkeypatch.setattr(atomic, "_MOST_FOLDERS", 2)
        for name in "abcde":
            (path.parent / name).mkdir()
            write_bytes(path.parent / name / "new.csv", "new")
        assert len(atomic._LOOKED_THROUGH) <= 2

    def test_folders_are_not_listed_every_time(self, path, monkeypatch):
        write_bytes(path, "new")
        monkeypatch.setattr(os, "scandir", None)
        write_bytes(path, "newer")
        assert path.read_text() == "newer"


class TestSync:
    def test_file_name_then_folder(self, monkeypatch, path):
        """Else a power cut takes the name back, or leaves it with nothing."""
        order = []
        sync, replace = os.fsync, os.replace

        def synced(descriptor):
            mode = os.fstat(descriptor).st_mode
            order.append("folder" if stat.S_ISDIR(mode) else "file")
            sync(descriptor)

        def replaced(*arguments):
            order.append("name")
            replace(*arguments)

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, "replace", replaced)
        write_bytes(path, "new")
        assert order == ["file", "name", "folder"]

    def test_folders_that_cannot_be_synced(self, monkeypatch, path):
        """As on some network drives: the file is there all the same."""
        sync = os.fsync

        def refused(descriptor):
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(22, "Invalid argument")
            sync(descriptor)

        monkeypatch.setattr(os, "fsync", refused)
        write_bytes(path, "new")
        assert path.read_text() == "new"

    def test_folders_whose_names_do_not_reach_the_disk(self, monkeypatch, path):
        sync = os.fsync

        def broken(descriptor):
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(5, "Input/output error")
            sync(descriptor)

        monkeypatch.setattr(os, "fsync", broken)
        with pytest.raises(OSError, match=r"Input/output error.*old\.csv"):
            write_bytes(path, "new")
        assert os.listdir(path.parent) == [path.name]

    def test_folders_that_cannot_be_read(self, monkeypatch, path):
        opened = os.open

        def refuse(name, flags, *mode):
            if os.path.isdir(name):
                raise PermissionError(13, "Permission denied")
            return opened(name, flags, *mode)

        monkeypatch.setattr(os, "open", refuse)
        write_bytes(path, "new")
        assert path.read_text() == "new"


class TestErrors:
    """Those of a file have its name, and no other has."""

    class Table:
        """Fails while it is written, as on a disk that is full."""

        column_names = ("text",)

        @property
        def columns(self):
            raise OSError(28, "No space left on device")

    def test_of_the_program(self, path):
        def fail():
            with written(path) as give:
                give(self.Table())

        words = r"old\.csv: could not be written: No space left"
        with pytest.raises(UserError, match=words):
            fail()
        assert path.read_text() == "old"

    def test_of_other_files(self, path):
        def fail():
            with written(path):
                raise FileNotFoundError(2, "No such file", "rows.csv")

        with pytest.raises(FileNotFoundError, match=r"rows\.csv"):
            fail()
        assert path.read_text() == "old"


class TestReplacing:
    def test_an_error_within_leaves_the_old_file(self, path):
        def fail():
            with replacing(path) as file:
                file.write(b"half")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert path.read_text() == "old"
        assert os.listdir(path.parent) == [path.name]

    def test_many_at_once_have_names_of_their_own(self, path):
        with replacing(path) as one, replacing(path) as two:
            one.write(b"one")
            two.write(b"two")
        assert path.read_bytes() == b"one"
