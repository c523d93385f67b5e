# SPDX-License-Identifier: BSD-3-Clause
import sys

from nrbench.trace.cli import main

sys.exit(main())
