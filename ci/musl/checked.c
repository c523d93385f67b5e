// SPDX-License-Identifier: BSD-3-Clause
/// @file checked.c
/// Functions of glibc that Debian's libcunit.a calls and musl lacks: those of _FORTIFY_SOURCE.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

int __printf_chk(int flag, const char *format, ...);
int __fprintf_chk(FILE *file, int flag, const char *format, ...);
int __snprintf_chk(char *text, size_t size, int flag, size_t room, const char *format, ...);
_Noreturn void __longjmp_chk(jmp_buf to, int value);

int __printf_chk(int flag, const char *format, ...)
{
  va_list values;
  (void)flag;
  va_start(values, format);
  const int length = vprintf(format, values);
  va_end(values);
  return length;
}

int __fprintf_chk(FILE *file, int flag, const char *format, ...)
{
  va_list values;
  (void)flag;
  va_start(values, format);
  const int length = vfprintf(file, format, values);
  va_end(values);
  return length;
}

int __snprintf_chk(char *text, size_t size, int flag, size_t room, const char *format, ...)
{
  va_list values;
  (void)flag;
  va_start(values, format);
  const int length = vsnprintf(text, size < room ? size : room, format, values);
  va_end(values);
  return length;
}

_Noreturn void __longjmp_chk(jmp_buf to, int value)
{
  longjmp(to, value);
}
