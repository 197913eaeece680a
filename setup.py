"""What pyproject.toml cannot say: the shipped models of `checkpoints/` are installed inside the package."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["bertviz_lab*"]), "bertviz_lab.checkpoints"],
    package_dir={"bertviz_lab.checkpoints": "checkpoints"},
)
