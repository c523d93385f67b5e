# SPDX-License-Identifier: BSD-3-Clause
"""A gNB and a UE in real time on vrtsim, OAI's radio in shared memory: slots that are late with each pool."""
