"""Downloads of data sets over https from fixed addresses, with verification by checksum.

The library pooch writes to a temporary file, compares the checksum and renames the file. An interrupted download
therefore leaves no partial file, and several processes may download one data set at once. An archive is unpacked in a
temporary folder, and its files are moved to their place once all of them are verified.
"""

import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from lockstep_bench.datasets import learned
from lockstep_bench.datasets.errors import Unavailable, Unreachable
from lockstep_bench.datasets.paths import regular
from lockstep_bench.datasets.records import File
from lockstep_bench.datasets.registry import Published, published
from lockstep_bench.datasets.storage import data_folder, store
from lockstep_bench.datasets.storage.unpack import UnexpectedContent, limit, unpack

if TYPE_CHECKING:
    from requests import Response, Session

CONNECT_TIMEOUT_SECONDS = 4  # per address of the host, so a dropped route costs a few times this
READ_TIMEOUT_SECONDS = 30  # for the next bytes, however few
PATIENCE_SECONDS = 60  # until a server has to send SLOWEST_BYTES_PER_SECOND on average
SLOWEST_BYTES_PER_SECOND = 1000
CHUNK_BYTES = 1 << 16
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def fetch(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    progress: bool = False,
    base_url: str | None = None,
) -> tuple[Path, ...]:
    """Download the files of a data set or of trained weights that are missing or damaged.

    Files whose addresses stand in other files of the set (`Source.listing`) are downloaded after these.

    After an error, files that were complete are kept, and the next call continues from there. If no file is missing,
    the folder may be read-only.

    Args:
        name: registered name of a data set, or key of `datasets.images.weights.WEIGHTS`.
        data_dir: data folder; see `datasets.data_dir`.
        progress: show a progress bar on stderr.
        base_url: address of a mirror, used instead of the publisher's; https, or http on this machine.

    Returns:
        The downloaded files; () if all were valid already.

    Raises:
        UnknownDataset: nothing is registered under this name.
        Unreachable: the server cannot be connected to.
        Unavailable: the data set cannot be downloaded, the server sends something else, or the folder is not writable.
    """
    source, folder = published(name), data_folder.data_dir(data_dir)
    arrived: tuple[Path, ...] = ()
    while faults := store.faults(source, folder, deep=True):
        wanted = [fault.file for fault in faults]
        if source.by_hand or any(store.path_of(source, file, folder) in arrived for file in wanted):
            raise store.unavailable(source, folder, faults)
        deliveries = _deliveries(wanted)
        with _bar(name, [delivery.bytes for delivery in deliveries], shown=progress) as advance:
            arrived += _download(source, deliveries, folder, base_url or source.base_url, advance)
        if source.listing is None:
            break
    return arrived


def session(base_url: str) -> "Session":
    """Return a `requests` session for `base_url` that refuses redirects from https to other protocols."""
    import requests

    secure = urlsplit(base_url).scheme == "https"

    def check_redirect(response: "Response", **_: Any) -> None:
        if response.is_redirect:
            target = urljoin(response.url, response.headers["location"])
            if urlsplit(target).scheme != "https" and (secure or not _loopback(target)):
                raise UnexpectedContent(f"it redirects to {target}, which is not https")

    connection = requests.Session()
    # A .gz must arrive as it is published, not unpacked on the way.
    connection.headers["Accept-Encoding"] = "identity"
    connection.hooks["response"].append(check_redirect)
    return connection


def _deliveries(wanted: Sequence[File]) -> dict[File, list[File]]:
    """Return the files to download, archives included, and the wanted files that each of them delivers."""
    deliveries: dict[File, list[File]] = {}
    for file in wanted:
        deliveries.setdefault(file.within or file, []).append(file)
    return deliveries


def _download(
    source: Published, deliveries: dict[File, list[File]], folder: Path, base_url: str, advance: Callable[[int], None]
) -> tuple[Path, ...]:
    paths = []
    with session(base_url) as connection:
        for delivery, files in deliveries.items():
            url = urljoin(base_url.rstrip("/") + "/", delivery.address or delivery.path)
            if urlsplit(url).scheme != "https" and not _loopback(url):
                place = base_url if url.startswith(base_url) else url
                raise Unavailable(source.name, f"its address {place!r} is not https", "use an https address")
            targets = [store.path_of(source, file, folder) for file in files]
            with _explained(source, folder, url):
                if files == [delivery]:
                    _retrieve(connection, url, delivery, targets[0], advance)
                    if not delivery.checksum:
                        learned.learn(delivery, source.folder, targets[0])
                else:
                    _retrieve_packed(connection, url, delivery, dict(zip(targets, files, strict=True)), advance)
            paths += targets
    return tuple(paths)


def _loopback(url: str) -> bool:
    return urlsplit(url).scheme == "http" and urlsplit(url).hostname in LOOPBACK


def _retrieve_packed(
    connection: "Session", url: str, archive: File, targets: dict[Path, File], advance: Callable[[int], None]
) -> None:
    beside = next(iter(targets)).parent
    beside.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".arriving-", dir=beside) as temporary:
        packed, unpacked = Path(temporary, Path(archive.path).name), Path(temporary, "unpacked")
        _retrieve(connection, url, archive, packed, advance)
        unpack(packed, list(targets.values()), unpacked)
        for target, file in targets.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.chmod(unpacked / file.path, 0o644)
            os.replace(unpacked / file.path, target)


def _retrieve(connection: "Session", url: str, file: File, path: Path, advance: Callable[[int], None]) -> None:
    import pooch

    def receive(url: str, temporary: str, _: object) -> None:
        timeout = (CONNECT_TIMEOUT_SECONDS, READ_TIMEOUT_SECONDS)
        with connection.get(url, stream=True, timeout=timeout) as response, open(temporary, "wb") as out:
            response.raise_for_status()
            received = 0
            for chunk in _chunks(response):
                received += len(chunk)
                if received > limit(file):
                    raise UnexpectedContent(f"it is longer than {limit(file)} bytes")
                out.write(chunk)
                advance(len(chunk))
        # pooch's temporary files are for their owner only, but a data folder is often shared.
        os.chmod(temporary, 0o644)

    pooch.get_logger().setLevel("WARNING")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        regular(path)  # pooch reads what it is about to replace
    known = ":".join(file.checksum) if file.checksum else None
    pooch.retrieve(url, known, fname=path.name, path=path.parent, downloader=receive)


def _chunks(response: "Response") -> Iterator[bytes]:
    """Yield the body as it arrives; `Response.iter_content` would wait for whole chunks from a slow server."""
    import requests
    from urllib3.exceptions import ProtocolError, ReadTimeoutError

    started = time.monotonic()
    try:
        while chunk := response.raw.read1(CHUNK_BYTES, decode_content=True):
            yield chunk
            seconds = time.monotonic() - started
            if seconds > PATIENCE_SECONDS and response.raw.tell() < SLOWEST_BYTES_PER_SECOND * seconds:
                raise _TooSlow
    except ReadTimeoutError as error:
        raise requests.ConnectionError(error) from error
    except ProtocolError as error:
        raise requests.exceptions.ChunkedEncodingError(error) from error


class _TooSlow(Exception):
    """The server sends less than `SLOWEST_BYTES_PER_SECOND`."""


@contextmanager
def _explained(source: Published, folder: Path, url: str) -> Iterator[None]:
    """Turn the errors of one download into `Unavailable`."""
    import requests

    retry = "try again later; files that have arrived are kept"
    try:
        yield
    except (requests.ConnectionError, requests.Timeout) as error:
        reason = f"no connection to {urlsplit(url).hostname}: {_in_words(error)}"
        raise Unreachable(source.name, reason, store.remedy(source, folder)) from error
    except _TooSlow as error:
        reason = f"{urlsplit(url).hostname} sent less than {SLOWEST_BYTES_PER_SECOND} bytes per second"
        raise Unreachable(source.name, reason, store.remedy(source, folder)) from error
    except requests.RequestException as error:
        raise Unavailable(source.name, f"{url} was not delivered ({error})", retry) from error
    except (UnexpectedContent, ValueError) as error:
        raise Unavailable(source.name, f"what was sent for {url} is refused: {error}", retry) from error
    except OSError as error:
        reason = f"cannot write to {error.filename or folder}: {error.strerror or error}"
        writable = f"choose a folder you can write to with --data-dir or {data_folder.VARIABLE}"
        raise Unavailable(source.name, reason, writable) from error


def _in_words(error: Exception) -> str:
    """Return why there was no connection, from the exceptions that caused an error of requests."""
    import requests

    causes: list[BaseException] = [error]
    while cause := getattr(causes[-1], "reason", None) or causes[-1].__context__:
        if not isinstance(cause, BaseException) or cause in causes:
            break
        causes.append(cause)
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return "its name cannot be looked up, as without a network"
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return "it refused"
    if any(isinstance(cause, TimeoutError | requests.Timeout) for cause in causes):
        return "it timed out"
    return "the connection broke off"


@contextmanager
def _bar(label: str, sizes: Sequence[int | None], shown: bool) -> Iterator[Callable[[int], None]]:
    if not shown:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True))
    known = [size for size in sizes if size is not None]
    task = bar.add_task(label, total=sum(known) if len(known) == len(sizes) else None)
    begun = False

    def advance(arrived: int) -> None:
        nonlocal begun
        if not begun:  # a server that does not answer leaves no bar behind
            bar.start()
            begun = True
        bar.advance(task, arrived)

    try:
        yield advance
    finally:
        if begun:
            bar.stop()
