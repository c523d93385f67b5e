# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of virtual machines that ci/lab boots, a file each; what they share is in kind.py."""
