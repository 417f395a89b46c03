"""Installs the folders of this repository as packages below `lockstep_bench`; all else is in pyproject.toml.

The links in `lockstep_bench` serve type checkers and editors. They are not followed here: Windows may have none.
"""

from setuptools import find_packages, setup

ONE_NAME = "lockstep_bench"
FOLDERS = ("bench", "methods", "datasets", "leaderboards")

linked = [f"{ONE_NAME}.{folder}*" for folder in FOLDERS]
own = find_packages(include=[ONE_NAME, f"{ONE_NAME}.*"], exclude=linked)
rooms = find_packages(include=[pattern for folder in FOLDERS for pattern in (folder, f"{folder}.*")])
setup(
    packages=[*own, *(f"{ONE_NAME}.{room}" for room in rooms)],
    package_dir={f"{ONE_NAME}.{folder}": folder for folder in FOLDERS},
)
