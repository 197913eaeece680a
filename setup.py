"""What pyproject.toml cannot say: the shipped models of `checkpoints/` are installed inside the package.

The views of the page are folders without an `__init__`, hence namespace packages.
"""

from setuptools import find_namespace_packages, setup

setup(
    packages=[*find_namespace_packages(include=["bertviz_lab*"]), "bertviz_lab.checkpoints"],
    package_dir={"bertviz_lab.checkpoints": "checkpoints"},
)
