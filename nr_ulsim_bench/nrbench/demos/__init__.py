# SPDX-License-Identifier: BSD-3-Clause
"""The programs of examples/ whose claims are figures: quicksort, the stock ticker, the Sudoku validator."""
