# SPDX-License-Identifier: BSD-3-Clause
"""Old pool against new over thread counts: real nr_ulsim, or recorded slots where there is none."""
