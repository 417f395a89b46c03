"""Installs the folders of this repository as packages below `lockstep_bench`; all else is in pyproject.toml."""

from setuptools import find_packages, setup

ONE_NAME = "lockstep_bench"
FOLDERS = ("bench", "methods", "datasets", "leaderboards")

# Links to the folders below `lockstep_bench` serve type checkers and editors; Windows may have none.
below = [
    f"{ONE_NAME}.{name}" for name in find_packages(include=[part for name in FOLDERS for part in (name, f"{name}.*")])
]
setup(packages=[ONE_NAME, *below], package_dir={f"{ONE_NAME}.{folder}": folder for folder in FOLDERS})
