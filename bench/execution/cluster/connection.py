"""Connection to a Dask scheduler, with checks of address and certificates."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.datasets.paths import regular, shown

if TYPE_CHECKING:
    from distributed import Client
    from distributed.security import Security

CONNECT_SECONDS = 15
CLOSE_SECONDS = 2
LARGEST_PORT = 65_535
REMEDY = "install it: pip install 'lockstep-bench[cluster]'"


@dataclass(frozen=True)
class Tls:
    """Certificate files in PEM format; for those that are None, Dask's configuration (distributed.comm.tls) is used.

    Attributes:
        ca_file: Certificate of the authority that signed all other certificates.
        cert: Certificate of this client.
        key: Private key of this client; None if the file `cert` contains it.
    """

    ca_file: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    @property
    def given(self) -> dict[str, Path]:
        """The files that are not None, by the name of their command-line option."""
        files = {"--tls-ca-file": self.ca_file, "--tls-cert": self.cert, "--tls-key": self.key}
        return {option: file for option, file in files.items() if file is not None}


async def _greet(address: str, security: Security) -> None:
    """Raise anything if no Dask process answers; a `Client` that fails halfway could block a later one for ever."""
    from distributed.comm.core import connect

    comm = await connect(address, timeout=CONNECT_SECONDS, **security.get_connection_args("client"))
    await comm.close()


@contextmanager
def connected(address: str, tls: Tls) -> Iterator[Client]:
    """Connect to a scheduler during the `with` block.

    Args:
        address: "tcp://HOST:PORT" or "tls://HOST:PORT".
        tls: Certificates for a tls:// address.

    Yields:
        A client of the scheduler.

    Raises:
        InvalidRequest: The address or the certificates are invalid, or no scheduler answers at the address.
    """
    check(address, tls)
    try:
        from distributed import Client
    except ImportError as problem:
        raise InvalidRequest(f"--cluster needs distributed, which cannot be imported ({problem}); {REMEDY}") from None
    security = security_of(address, tls)
    try:
        asyncio.run(_greet(address, security))
        client = Client(
            address,
            timeout=CONNECT_SECONDS,
            security=security,
            name="lockstep-bench",
            set_as_default=False,
            direct_to_workers=False,  # only the scheduler has to be within reach
        )
    except Exception as problem:  # a server that is no scheduler may send anything, as a length of 3 EiB
        raise InvalidRequest(
            f"no Dask scheduler answered at {address} within {CONNECT_SECONDS} seconds ({problem}); start one with "
            "`dask scheduler`, whose first lines say its address, or see docs/cluster.md for TLS"
        ) from None
    try:
        yield client
    finally:
        for name in ("distributed", "distributed.client"):  # they would print tracebacks of what is cancelled
            logging.getLogger(name).setLevel(logging.CRITICAL)
        with suppress(Exception):  # a scheduler that answers nothing any more
            client.close(timeout=CLOSE_SECONDS)


def check(address: str, tls: Tls) -> None:
    """Raise `InvalidRequest` if the address or the certificates are invalid. Nothing is imported or sent."""
    protocol, _, rest = address.partition("://")
    host, _, port = rest.rpartition(":")
    numbered = re.fullmatch("[0-9]{1,5}", port) and 0 < int(port) <= LARGEST_PORT
    if protocol not in ("tcp", "tls") or not host or not numbered:
        raise InvalidRequest(
            f"--cluster {address!r} is not the address of a scheduler; write tcp://HOST:PORT or tls://HOST:PORT, with "
            f"a port from 1 to {LARGEST_PORT}"
        )
    if tls.given and protocol != "tls":
        raise InvalidRequest(
            f"{', '.join(tls.given)} with --cluster {address} would encrypt nothing; write tls://{rest}"
        )
    for option, file in tls.given.items():
        try:
            regular(file)
        except OSError as problem:
            raise InvalidRequest(f"{option} {shown(file)} cannot be read: {problem.strerror}; check the path") from None
    if tls.given and not (tls.ca_file and tls.cert):
        raise InvalidRequest(
            f"only {', '.join(tls.given)} of --tls-ca-file, --tls-cert and --tls-key (or a key in the file of the "
            "certificate) is given; give them all, or none to have those of Dask's configuration"
        )


def unprotected(address: str) -> bool:
    """Return whether a connection to the address would leave this machine without encryption."""
    host = address.partition("://")[2].rpartition(":")[0].strip("[]")
    return address.startswith("tcp://") and not (host == "localhost" or host == "::1" or host.startswith("127."))


def security_of(address: str, tls: Tls) -> Security:
    """Return Dask's security configuration with the given certificates; it requires encryption for a tls:// address.

    Raises:
        InvalidRequest: A tls:// address has no certificates.
    """
    from distributed.security import Security

    names = {"tls_ca_file": tls.ca_file, "tls_client_cert": tls.cert, "tls_client_key": tls.key}
    files = {name: str(file) for name, file in names.items() if file is not None}
    security = Security(require_encryption=address.startswith("tls://") or None, **files)
    client = security.get_tls_config_for_role("client")
    if address.startswith("tls://") and not (client["ca_file"] and client["cert"]):
        raise InvalidRequest(
            f"--cluster {address} needs certificates; give --tls-ca-file, --tls-cert and --tls-key, or set "
            "distributed.comm.tls in Dask's configuration"
        )
    return security
