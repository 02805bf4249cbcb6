# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Builds the wheel for "pip install ./python". scripts/wheel does the work, with the library."""
import os
import shutil
import subprocess
import sys

_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "scripts", "wheel")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Build the wheel, and return the name of its file."""
    if not os.path.exists(_SCRIPT):
        sys.exit("dispatchkey: the library's sources are not beside this folder: install "
                 "the wheel that \"make wheel\" builds, or Debian's package python3-dispatchkey")
    environment = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run([_SCRIPT], env=environment, stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode:
        sys.exit("dispatchkey: the wheel cannot be built: see above")
    return os.path.basename(shutil.copy(done.stdout.splitlines()[-1], wheel_directory))


def build_sdist(sdist_directory, config_settings=None):
    """Fail, because a source distribution would not have the library's sources."""
    sys.exit("dispatchkey: there is no source distribution for pip: use make wheel, or make dist "
             "for all sources")
