# SPDX-License-Identifier: BSD-3-Clause
"""What ci/oai-preflight knows: CMake's language as far as needed, an OAI tree, the host, and the checks."""
