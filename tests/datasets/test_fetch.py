"""Fetching, from a server of the test's own."""

import bz2
import gzip
import hashlib
import json
import lzma
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from headwater.cli import main
from headwater.datasets import Entry, entries, fetch, load
from headwater.errors import DatasetError, ParameterError

pytest.importorskip("pooch")

FIRST, SECOND = b"0 1:1.0 3:0 \n1 2:.5\n", b"1 3:7"
TEXT = b"-1 1:1\n+1 2:0.5\n+1 3:7\n"
SHA256 = hashlib.sha256(TEXT).hexdigest()


class Quiet(SimpleHTTPRequestHandler):
    """Says nothing."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the address under which it is served."""
    root = tmp_path / "site"
    root.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield root, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("pack", [bytes, bz2.compress, lzma.compress, gzip.compress])
def test_parts_are_fetched_unpacked_joined_and_stored_in_our_form(
    site: tuple[Path, str], tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    root, address = site
    (root / "a").write_bytes(pack(FIRST))
    (root / "a.t").write_bytes(pack(SECOND))
    urls = (f"{address}/a", f"{address}/a.t")
    known = Entry("tiny", n=3, d=4, classes=2, positives=2, nonzeros=3, sha256=SHA256, urls=urls)
    folder = tmp_path / "new" / "folder"
    path = fetch(known, folder)
    assert path == folder / "tiny.svm.gz"
    assert gzip.decompress(path.read_bytes()) == TEXT
    assert load(known, folder).y.tolist() == [-1, 1, 1]
    assert left_in(folder) == ["tiny.svm.gz"]


def test_several_classes_are_counted_from_one(site: tuple[Path, str], tmp_path: Path) -> None:
    root, address = site
    (root / "cards").write_bytes(b"9 1:1\n0 1:2\n4\n9 2:1\n")
    sha256 = hashlib.sha256(b"3 1:1\n1 1:2\n2\n3 2:1\n").hexdigest()
    known = Entry("cards", d=2, classes=3, sha256=sha256, urls=(f"{address}/cards",))
    fetch(known, tmp_path)
    assert load(known, tmp_path).y.tolist() == [3, 1, 2, 3]


def test_what_is_there_and_right_is_not_fetched_again(tmp_path: Path) -> None:
    known = Entry("tiny", d=4, sha256=SHA256, urls=("http://127.0.0.1:9/nobody",))
    (tmp_path / "tiny.svm.gz").write_bytes(gzip.compress(TEXT))
    assert fetch(known, tmp_path) == tmp_path / "tiny.svm.gz"


def test_what_is_there_and_damaged_is_replaced(site: tuple[Path, str], tmp_path: Path) -> None:
    root, address = site
    (root / "a").write_bytes(TEXT)
    known = Entry("tiny", d=4, sha256=SHA256, urls=(f"{address}/a",))
    (tmp_path / "tiny.svm.gz").write_bytes(b"damaged")
    fetch(known, tmp_path)
    assert len(load(known, tmp_path)) == 3


@pytest.mark.parametrize(
    ("served", "changes", "sentence"),
    [
        (TEXT, {"n": 4}, "/a: must have 4 rows, got 3."),
        (TEXT, {"classes": 3}, "/a: must have 3 classes, got 2."),
        (TEXT, {"positives": 1}, r"/a: must have 1 labels \+1, got 2."),
        (TEXT, {"sha256": "f" * 64}, f"/a: its text must have SHA-256 {'f' * 64}, got {SHA256}."),
        (TEXT, {"d": 2}, r"/a, row 3: indices must be whole numbers in 1\.\.2"),
        (
            b"<html>Moved</html>",
            {},
            "/a, line 1: expected a number as the label, got '<html>Moved</html>'",
        ),
        (bz2.compress(TEXT)[:-4], {}, "/a: cannot be unpacked: "),
        (lzma.compress(TEXT)[:-4], {}, "/a: cannot be unpacked: "),
        (gzip.compress(TEXT)[:-4], {}, "/a: cannot be unpacked: "),
    ],
    ids=["rows", "classes", "positives", "text", "indices", "page", "bzip2", "xz", "gzip"],
)
def test_what_is_not_the_data_set_is_refused_and_not_stored(
    site: tuple[Path, str],
    tmp_path: Path,
    served: bytes,
    changes: dict[str, object],
    sentence: str,
) -> None:
    root, address = site
    (root / "a").write_bytes(served)
    fields: dict[str, object] = {
        "name": "tiny",
        "d": 4,
        "sha256": SHA256,
        "urls": (f"{address}/a",),
    }
    folder = tmp_path / "folder"
    with pytest.raises(DatasetError, match=sentence):
        fetch(Entry(**{**fields, **changes}), folder)  # type: ignore[arg-type]
    assert left_in(folder) == []


def test_a_server_without_the_file_is_a_sentence(site: tuple[Path, str], tmp_path: Path) -> None:
    known = Entry("tiny", d=4, sha256=SHA256, urls=(f"{site[1]}/missing",))
    sentence = r"^tiny: http.*/missing cannot be fetched: the server answers 404 .*\.$"
    with pytest.raises(DatasetError, match=sentence):
        fetch(known, tmp_path / "folder")
    assert left_in(tmp_path / "folder") == []


def test_a_server_that_is_down_is_a_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:  # a port at which nobody listens
        taken.bind(("127.0.0.1", 0))
        known = Entry(
            "tiny", d=4, sha256=SHA256, urls=(f"http://127.0.0.1:{taken.getsockname()[1]}/a",)
        )
        with pytest.raises(DatasetError, match=r"/a cannot be fetched: the server cannot be reach"):
            fetch(known, tmp_path)


def test_a_server_that_is_silent_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.datasets.fetching.SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        known = Entry(
            "tiny", d=4, sha256=SHA256, urls=(f"http://127.0.0.1:{silent.getsockname()[1]}/a",)
        )
        with pytest.raises(DatasetError, match=r"there is no answer within 0\.2 seconds\.$"):
            fetch(known, tmp_path)


def test_an_address_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"^tiny: nowhere/a cannot be fetched: .*\.$"):
        fetch(Entry("tiny", d=4, sha256=SHA256, urls=("http://x/a",)), tmp_path, mirror="nowhere")


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    known = Entry("tiny", d=4, sha256=SHA256, urls=("http://127.0.0.1:9/a",))
    with pytest.raises(DatasetError, match=r"^tiny: .*tiny\.svm\.gz cannot be written: .*\.$"):
        fetch(known, tmp_path / "file")


def test_without_pooch_the_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DatasetError, match=r'pip install "headwater\[datasets\]"'):
        fetch("a9a", tmp_path)


def test_a_set_without_a_public_file_says_where_it_comes_from(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"vote: there is no public file.*UCI house-votes-84"):
        fetch("vote", tmp_path)
    with pytest.raises(ParameterError, match="The nearest: vote"):
        fetch("votes", tmp_path)


FETCHED = [known for known in entries() if known.is_fetchable]
UNCHECKED = [known for known in entries() if known.urls and known.sha256 is None]


def test_every_set_of_the_registry_that_is_fetched_is_checked() -> None:
    assert len(FETCHED) >= 11
    assert all(len(str(known.sha256)) == 64 for known in FETCHED)
    assert {known.name for known in FETCHED + UNCHECKED} == {
        known.name for known in entries() if known.urls
    }


@pytest.mark.parametrize(
    "known", [*UNCHECKED, Entry("own", d=4, urls=("http://127.0.0.1:9/a",))], ids=lambda k: k.name
)
def test_nothing_is_fetched_unchecked_and_the_sentence_says_what_to_do(
    known: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it was about to be fetched")

    monkeypatch.setattr("headwater.datasets.fetching._download", refuse)
    with pytest.raises(DatasetError, match=r"checksum .* is not known") as caught:
        fetch(known, tmp_path, mirror="http://127.0.0.1:9")
    for part in (*known.urls, f"{known.name}.svm.gz", "HEADWATER_DATA"):
        assert part in str(caught.value)
    with pytest.raises(DatasetError, match=f"{known.name}: there is no .*Get it from http"):
        load(known, tmp_path)
    assert left_in(tmp_path) == []


def test_the_list_offers_to_fetch_what_can_be_fetched(tmp_path: Path) -> None:
    _, output = headwater("--folder", tmp_path)
    offered = {words[0] for line in output.splitlines() if "fetch" in (words := line.split())}
    assert offered - {"In"} == {known.name for known in FETCHED}


# The command


def headwater(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["datasets", *map(str, arguments)], env={"COLUMNS": "200"})
    return result.exit_code, result.output


def test_the_list_says_of_each_set_whether_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "wdbc.svm.gz").touch()
    code, output = headwater("--folder", tmp_path)
    assert code == 0
    lines = {words[0]: words for line in output.splitlines() if (words := line.split())}
    assert lines["wdbc"][1:6] == ["569", "30", "2", "dense", "yes"]
    assert lines["a9a"][1:6] == ["32,561", "123", "2", "dense", "fetch"]
    assert lines["pcmac"][1:6] == ["1,943", "3,289", "2", "sparse", "no"]
    assert lines["reuters-multilingual"][1:4] == ["?", "?", "6"]
    assert {known.name for known in entries()} <= set(lines)
    assert str(tmp_path) in output


def test_the_list_as_json_holds_everything_that_is_known(tmp_path: Path) -> None:
    (tmp_path / "wdbc.svm.gz").touch()
    code, output = headwater("--folder", tmp_path, "--json")
    assert code == 0
    listed = {row.pop("name"): row for row in json.loads(output)}
    assert set(listed) == {known.name for known in entries()}
    assert listed["wdbc"]["present"]
    assert not listed["a8a"]["present"]
    assert listed["a8a-32561"]["urls"][1].endswith("/a8a.t")
    assert {"n", "d", "classes", "sparse", "licence", "source"} <= set(listed["vote"])


def test_the_command_fetches_and_refuses_what_is_another_set(
    site: tuple[Path, str], tmp_path: Path
) -> None:
    root, address = site
    (root / "svmguide3").write_bytes(TEXT)
    folder = tmp_path / "folder"
    code, output = headwater("fetch", "svmguide3", "--folder", folder, "--mirror", address)
    assert code == 2
    assert f"{address}/svmguide3: must have 1243 rows, got 3." in " ".join(output.split())
    assert "Traceback" not in output
    assert left_in(folder) == []


def test_the_command_says_where_the_fetched_file_lies(
    site: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, address = site
    (root / "a").write_bytes(TEXT)
    known = Entry("tiny", d=4, sha256=SHA256, urls=("http://127.0.0.1:9/a",))
    monkeypatch.setattr("headwater.datasets.fetching.entry", {"tiny": known}.__getitem__)
    code, output = headwater("fetch", "tiny", "--folder", tmp_path, "--mirror", f"{address}/")
    assert code == 0, output
    assert f"tiny: {tmp_path / 'tiny.svm.gz'}" in output
    assert len(load(known, tmp_path)) == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fetch", "spambse"], "The nearest: spambase"),
        (["fetch", "spambase"], "spambase: there is no public file of svmlight text."),
        (["--json", "fetch", "a9a"], "Options go after fetch."),
        (["fetch"], "Missing argument 'NAME'."),
    ],
)
def test_a_mistake_is_a_sentence_and_exit_code_2(arguments: list[str], sentence: str) -> None:
    code, output = headwater(*arguments)
    assert code == 2
    assert sentence in " ".join(output.split())
