# SPDX-License-Identifier: BSD-3-Clause
# The one place of the version: for the standalone build (top CMakeLists.txt) and for the hook into OAI's.
set(WS_VERSION 0.1.0)
