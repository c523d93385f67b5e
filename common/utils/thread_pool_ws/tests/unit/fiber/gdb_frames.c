// SPDX-License-Identifier: BSD-3-Clause
/// @file gdb_frames.c
/// Linked into a second program of test_gdb in place of Boost.Context. Its jump_fcontext() leaves registers
/// at other places on the stack than Boost.Context does. ws_fibers.py must find them.
#include <stdint.h>
#include <string.h>

#include "../../../fiber/ws_fcontext.h"

#ifndef __x86_64__
#error "x86-64 only"
#endif

enum { FUNC = 9, WORDS = 10 }; ///< of a context, as jump_fcontext() below leaves it

__asm__(".text\n"
        ".globl jump_fcontext\n"
        ".type jump_fcontext, @function\n"
        "jump_fcontext:\n"
        "  push %r12\n"
        "  push %r13\n"
        "  sub $0x38, %rsp\n"
        "  mov %rbx, 0x28(%rsp)\n"
        "  mov %r15, 0x10(%rsp)\n"
        "  mov %r14, 0x8(%rsp)\n"
        "  mov %rbp, (%rsp)\n"
        "  mov %rsp, %rax\n"
        "  mov %rdi, %rsp\n"
        "  mov (%rsp), %rbp\n"
        "  mov 0x8(%rsp), %r14\n"
        "  mov 0x10(%rsp), %r15\n"
        "  mov 0x28(%rsp), %rbx\n"
        "  add $0x38, %rsp\n"
        "  pop %r13\n"
        "  pop %r12\n"
        "  mov %rax, %rdi\n"
        "  mov %rsi, %rdx\n"
        "  pop %rcx\n"
        "  jmp *%rcx\n"
        ".size jump_fcontext, . - jump_fcontext\n");

fcontext_t make_fcontext(void *stack_top, size_t size, void (*func)(transfer_t))
{
  // The function begins as if it were called: its return address, 0, lies just below a multiple of 16.
  uint64_t *context = (uint64_t *)stack_top - WORDS - 1;
  memset(context, 0, (WORDS + 1) * sizeof(*context));
  memcpy(&context[FUNC], &func, sizeof(func));
  return context;
}
