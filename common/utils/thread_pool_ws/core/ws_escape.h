// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_escape.h
/// A C++ exception that leaves a task ends the process. In the frames of the library it would skip what these
/// have to put back, on its way to a handler of the thread that waits.
///
/// Method    Tables only. The function below which tasks run names a personality routine. The unwinder calls
///           the routine before it unwinds anything: the process ends with the whole stack of the throw.
#ifndef WS_ESCAPE_H
#define WS_ESCAPE_H

#if defined(__GCC_HAVE_DWARF2_CFI_ASM) && (defined(__x86_64__) || defined(__aarch64__))
/// In a function: no exception leaves it. 0x1b: the routine's address is relative, in four bytes.
#define WS_NO_EXCEPTION_LEAVES() __asm__ volatile(".cfi_personality 0x1b, ws_escape_personality")
#else // an exception that leaves a task passes
#define WS_NO_EXCEPTION_LEAVES() ((void)0)
#endif

#endif
