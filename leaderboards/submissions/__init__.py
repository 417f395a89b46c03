"""Submissions: the results of somebody's method in a folder that others can check and run again.

Imports `leaderboards.publishing` and the layers below it. A submission is

    FOLDER/README.md          what it holds, and the command that repeats some of its results
    FOLDER/submission.json    the same for programs
    FOLDER/package/           the method, as a package that pip installs
    FOLDER/results/           a compact results folder with the method's rows alone
    FOLDER/SHA256SUMS         checksums of all files but those of a recheck

Its results are *self-reported* until somebody repeats some of them (`python -m leaderboards recheck FOLDER/results`).
"""
