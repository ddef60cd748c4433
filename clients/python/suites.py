"""Test suites that packages have in their source distributions, which pip fetches beside the installed packages."""

import importlib.metadata
import pathlib
import subprocess
import sys
import tarfile


def sources(package):
    """The folder of the source distribution of the installed version."""
    version = importlib.metadata.version(package)
    fetched = pathlib.Path(sys.prefix) / "sources"
    found = list(fetched.glob(f"{package.lower()}-{version}/"))
    if not found:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", package,
                        "--dest", fetched, f"{package}=={version}"], check=True)
        [archive] = fetched.glob(f"{package.lower()}-{version}.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(fetched, filter="data")
        found = list(fetched.glob(f"{package.lower()}-{version}/"))
    return found[0]


def output(command, folder, environment, log):
    """What the command prints, which is also kept in a file."""
    with open(log, "w", encoding="utf-8") as file:
        subprocess.run(command, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT, check=False)
    return pathlib.Path(log).read_text(encoding="utf-8", errors="replace")
