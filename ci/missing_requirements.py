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
        try:
            met = found and wanted.specifier.contains(found.metadata["Version"], prereleases=True)
        except (TypeError, ValueError):  # an installation that was cut off: no version, or no number
            met = False
        if not met:
            print(entry)
