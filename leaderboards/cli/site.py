"""Commands that write or serve the pages: `build`, `publish`, `serve`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.cli.options import Folders, notes_on, print_notes, read_folders, require_results, stop
from lockstep_bench.shared.options import folder
from lockstep_bench.shared.texts import visible


def build(
    results: Folders,
    html: Annotated[Path, typer.Option("--html", metavar="DIR", parser=folder, help="Folder to write index.html to.")],
) -> None:
    """Write DIR/index.html and the pages it links to. They need neither a server nor a network."""
    for each in results:
        require_results(each)
    try:
        html.mkdir(parents=True, exist_ok=True)  # before the work
        page = leaderboards.build(results, html)
    except OSError as error:
        stop(f"the pages cannot be written to '{html}': {error.strerror or error}; choose another folder with --html")
    typer.echo(visible(page))


def publish(
    results: Folders,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="DIR|branch:NAME|huggingface:DIR",
            help="A folder, a branch of the current git repository, or a folder for the Hugging Face Hub.",
        ),
    ],
) -> None:
    """Prepare a site for publication, with its results and checksums. Nothing is uploaded.

    A folder is replaced as a whole if an earlier publish made it, and left alone otherwise. A branch gets a new commit
    if anything has changed; the working tree and the index stay as they are. With huggingface:DIR, DIR/dataset gets the
    rows with a card, and DIR/space the pages as a static Space. The same results give the same bytes.
    """
    from lockstep_bench.leaderboards.publishing import (
        PublishingRefused,
        publish_to_branch,
        publish_to_folder,
        publish_to_huggingface,
    )

    read = read_folders(results, cached=False)
    commit, hub = None, None
    try:
        if to.startswith("branch:"):
            contents, commit = publish_to_branch(read, to.removeprefix("branch:"))
        elif to.startswith("huggingface:"):
            hub = folder(to.removeprefix("huggingface:"))
            contents = publish_to_huggingface(read, hub)
        else:
            contents = publish_to_folder(read, folder(to))
    except PublishingRefused as refusal:
        stop(str(refusal))
    except OSError as error:
        stop(f"the site cannot be written to '{to}': {error.strerror or error}; choose another place with --to")
    print_notes(notes_on(read))
    typer.echo(f"{contents.title}; results {_kib(contents.results_bytes)}, whole site {_kib(contents.site_bytes)}")
    typer.echo(f"the pages name the machines that ran the cells: {contents.hosts}")
    if commit:
        typer.echo(f"commit {commit.id[:12]}, {'new' if commit.made else 'unchanged'}")
        typer.echo(f"to publish it: {commit.push}")
    elif hub:
        for kind in ("dataset", "space"):
            typer.echo(f"to upload it: hf upload OWNER/NAME {visible(hub / kind)} . --repo-type {kind}")
    else:
        typer.echo(visible(Path(to) / "index.html"))


def serve(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RESULTS...|SITE", help="Results folders, or the folder of a site.")
    ],
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
) -> None:
    """Serve a leaderboard on this machine only, until Ctrl-C."""
    import tempfile

    from lockstep_bench.leaderboards.site.serving import LOOPBACK, server

    with tempfile.TemporaryDirectory() as built:
        if len(folders) == 1 and os.path.isfile(folders[0] / "index.html"):
            (site,) = folders
        else:
            for each in folders:
                require_results(each)
            site = leaderboards.build(folders, built, again=False).parent
        try:
            running = server(site, port)
        except OSError as error:
            stop(f"port {port} is not available: {error.strerror or error}; --port 0 takes a free one")
        with running:
            try:
                typer.echo(f"http://{LOOPBACK}:{running.server_port}/ (stop with Ctrl-C)")
                running.serve_forever()
            except KeyboardInterrupt:
                typer.echo("")


def _kib(n_bytes: int) -> str:
    return f"{n_bytes / 1024:,.0f} KiB"
