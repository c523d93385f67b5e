// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_symbols.c
/// ws_rule.h: functions by name. Reads the files' tables .symtab, which has the static functions too, or, in
/// a stripped file, .dynsym. dlsym() would find the exported ones only, and run the loader's locks.
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../os/ws_os.h"
#include "ws_rule.h"

typedef ElfW(Ehdr) header_t;
typedef ElfW(Shdr) section_t;
typedef ElfW(Sym) symbol_t;

typedef struct {
  const char *name;
  uintptr_t *found;
  uint32_t count, max;
} search_t;

/// A file in memory.
typedef struct {
  const char *bytes;
  size_t size;
  uintptr_t base; ///< where the loader has put address 0 of the file
} file_t;

static bool holds(const file_t *file, uint64_t offset, uint64_t size)
{
  return offset <= file->size && size <= file->size - offset;
}

static bool is_named(const char *name, const char *end, const char *wanted)
{
  const size_t length = strlen(wanted), room = (size_t)(end - name);
  return room > length && memcmp(name, wanted, length) == 0
         && (name[length] == '\0' || (name[length] == '.' && strncmp(name + length, ".cold", 5) != 0));
}

static void add(search_t *search, uintptr_t func)
{
  for (uint32_t i = 0; i < search->count; i++)
    if (search->found[i] == func)
      return;
  if (search->count < search->max)
    search->found[search->count++] = func;
}

/// @param strings  the section with the names of @p table
static void read_table(const file_t *file, const section_t *table, const section_t *strings, search_t *search)
{
  if (!holds(file, table->sh_offset, table->sh_size) || !holds(file, strings->sh_offset, strings->sh_size))
    return;
  const char *names = file->bytes + strings->sh_offset, *end = names + strings->sh_size;
  if (strings->sh_size == 0 || end[-1] != '\0')
    return;
  for (uint64_t i = 0; i < table->sh_size / sizeof(symbol_t); i++) {
    symbol_t symbol;
    memcpy(&symbol, file->bytes + table->sh_offset + i * sizeof(symbol), sizeof(symbol));
    if ((symbol.st_info & 15) == STT_FUNC && symbol.st_shndx != SHN_UNDEF && symbol.st_name < strings->sh_size
        && is_named(names + symbol.st_name, end, search->name))
      add(search, file->base + symbol.st_value);
  }
}

static void read_sections(const file_t *file, uint32_t type, search_t *search)
{
  header_t header;
  if (!holds(file, 0, sizeof(header)))
    return;
  memcpy(&header, file->bytes, sizeof(header));
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(section_t)
      || header.e_shoff % sizeof(uint64_t) != 0
      || !holds(file, header.e_shoff, (uint64_t)header.e_shnum * sizeof(section_t)))
    return;
  const section_t *sections = (const section_t *)(const void *)(file->bytes + header.e_shoff);
  for (uint32_t i = 0; i < header.e_shnum; i++)
    if (sections[i].sh_type == type && sections[i].sh_link < header.e_shnum)
      read_table(file, &sections[i], &sections[sections[i].sh_link], search);
}

static int search_file(struct dl_phdr_info *library, size_t size, void *search_arg)
{
  (void)size;
  search_t *search = search_arg;
  const char *path = library->dlpi_name && library->dlpi_name[0] ? library->dlpi_name : "/proc/self/exe";
  struct stat status;
  const int fd = open(path, O_RDONLY | O_CLOEXEC); // the vDSO has no file
  if (fd < 0)
    return 0;
  file_t file = {.base = library->dlpi_addr};
  if (fstat(fd, &status) == 0 && status.st_size > 0) {
    file.size = (size_t)status.st_size;
    void *bytes = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, fd, 0);
    file.bytes = bytes == MAP_FAILED ? NULL : bytes;
  }
  close(fd);
  if (!file.bytes)
    return 0;
  const uint32_t before = search->count;
  read_sections(&file, SHT_SYMTAB, search);
  if (search->count == before)
    read_sections(&file, SHT_DYNSYM, search);
  munmap((void *)(uintptr_t)file.bytes, file.size);
  return 0;
}

uint32_t ws_symbols_find(const char *name, uintptr_t *found, uint32_t found_max)
{
  search_t search = {.name = name, .found = found, .max = found_max};
  ws_os_fork_hold();
  dl_iterate_phdr(search_file, &search);
  ws_os_fork_let();
  return search.count;
}
