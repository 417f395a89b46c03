"""Publication of a leaderboard: the site, its results as Parquet, and checksums, in folders or on a git branch.

Imports `leaderboards.site` and the layers below it.

The results determine everything: publishing the same results again gives the same bytes, and no new commit.
"""

import tempfile
from pathlib import Path

from lockstep_bench.leaderboards.data.results import Leaderboard
from lockstep_bench.leaderboards.publishing.branch import Commit, commit_folder, publishable
from lockstep_bench.leaderboards.publishing.contents import SiteContents, write_contents
from lockstep_bench.leaderboards.publishing.folder import replace_folder
from lockstep_bench.leaderboards.publishing.huggingface import write_huggingface
from lockstep_bench.leaderboards.publishing.refusal import PublishingRefused

__all__ = [
    "Commit",
    "PublishingRefused",
    "SiteContents",
    "publish_to_branch",
    "publish_to_folder",
    "publish_to_huggingface",
]


def publish_to_folder(results: Leaderboard, folder: Path) -> SiteContents:
    """Publish `results` to `folder`, which is new, empty, or was published before.

    Raises:
        PublishingRefused: No result is finished, or `folder` holds files that publishing did not write.
        OSError: A file cannot be written; `folder` stays unchanged.
    """
    return replace_folder(folder, lambda fresh: write_contents(results, fresh))


def publish_to_huggingface(results: Leaderboard, folder: Path) -> SiteContents:
    """Publish `results` as `folder`/dataset and `folder`/space, for the Hugging Face Hub, without uploading them.

    Raises:
        PublishingRefused: No result is finished, or `folder` holds files that publishing did not write.
        OSError: A file cannot be written; `folder` stays unchanged.
    """
    return replace_folder(folder, lambda fresh: write_huggingface(results, fresh))


def publish_to_branch(results: Leaderboard, branch: str) -> tuple[SiteContents, Commit]:
    """Publish `results` to a branch of the current git repository, without pushing it.

    Raises:
        PublishingRefused: No result is finished, or the branch cannot be published to (see `branch.publishable`).
    """
    publishable(branch)  # before the work
    with tempfile.TemporaryDirectory() as fresh:
        contents = write_contents(results, Path(fresh))
        return contents, commit_folder(Path(fresh), branch, f"Leaderboard of {contents.title}")
