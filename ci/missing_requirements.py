# SPDX-License-Identifier: BSD-3-Clause
"""missing_requirements.py <folder or ""> <requirement>...   prints those that are not met.

What counts is installed for the Python that runs this; with a folder, what lies in the folder. A requirement
whose marker is false is met. Needs pip, which brings the reader of requirements.
"""

import sys
from importlib.metadata import distributions

from pip._vendor.packaging.requirements import Requirement

path = sys.argv[1:2] if sys.argv[1] else sys.path
for entry in sys.argv[2:]:
    wanted = Requirement(entry)
    if wanted.marker is None or wanted.marker.evaluate():
        # Of several versions on the path Python imports the first.
        found = next(iter(distributions(name=wanted.name, path=path)), None)
        version = found.metadata["Version"] if found and found.metadata else None
        if version is None or not wanted.specifier.contains(version, prereleases=True):
            print(entry)
