# SPDX-License-Identifier: BSD-3-Clause
from nrbench.cli import main

main()
