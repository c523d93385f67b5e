// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// Options, and reading a board.
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sudoku.h"
#include "ws_sched.h"

static const char usage[] =
    "usage: sudoku_validator [option...] [file]\n"
    "  file         a board: 81 digits 1 to 9; blanks and line ends are ignored. Default: a valid one\n"
    "  --threads N  threads that check, this one included, 1 .. 64 (default: 11)\n"
    "  --repeat R   times that each task checks its part (default: 1)\n"
    "  --noisy      each check of a box prints its cells\n"
    "  --time       print the time of a validation: one thread and N, quiet and noisy\n"
    "exit status: 0 = valid, 1 = not valid, 2 = error\n";

static const sudoku_t built_in = {{{5, 3, 4, 6, 7, 8, 9, 1, 2},
                                   {6, 7, 2, 1, 9, 5, 3, 4, 8},
                                   {1, 9, 8, 3, 4, 2, 5, 6, 7},
                                   {8, 5, 9, 7, 6, 1, 4, 2, 3},
                                   {4, 2, 6, 8, 5, 3, 7, 9, 1},
                                   {7, 1, 3, 9, 2, 4, 8, 5, 6},
                                   {9, 6, 1, 5, 3, 7, 2, 8, 4},
                                   {2, 8, 7, 4, 1, 9, 6, 3, 5},
                                   {3, 4, 5, 2, 8, 6, 1, 7, 9}}};

typedef struct {
  uint64_t threads, repeat;
  bool noisy, time;
  const char *file;
} options_t;

/// @return whether the file has a board; if not, the error has been printed
static bool read_board(const char *path, sudoku_t *board)
{
  FILE *file = fopen(path, "r");
  if (!file) {
    fprintf(stderr, "sudoku_validator: %s: %s\n", path, strerror(errno));
    return false;
  }
  int read, count = 0, line = 1;
  while ((read = getc(file)) != EOF) {
    line += read == '\n';
    if (strchr(" \t\r\n", read))
      continue;
    if (read < '1' || read > '9' || count == 81)
      break;
    board->cell[count / 9][count % 9] = (uint8_t)(read - '0');
    count++;
  }
  fclose(file);
  if (read == EOF && count == 81)
    return true;
  if (read == EOF)
    fprintf(stderr, "sudoku_validator: %s: %d digits; a board has 81\n", path, count);
  else if (count == 81)
    fprintf(stderr, "sudoku_validator: %s: line %d: more than 81 digits\n", path, line);
  else
    fprintf(stderr, "sudoku_validator: %s: line %d: '%c' is no digit from 1 to 9\n", path, line, read);
  return false;
}

static bool parse(const char *name, const char *text, uint64_t max, uint64_t *value)
{
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 10);
  if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *value >= 1 && *value <= max)
    return true;
  fprintf(stderr, "sudoku_validator: --%s %s: expected a number from 1 to %llu\n", name, text,
          (unsigned long long)max);
  return false;
}

static bool parse_options(int argc, char **argv, options_t *options)
{
  static const struct option known[] = {{"threads", required_argument, NULL, 't'},
                                        {"repeat", required_argument, NULL, 'r'},
                                        {"noisy", no_argument, NULL, 'n'},
                                        {"time", no_argument, NULL, 'T'},
                                        {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    options->noisy |= option == 'n';
    options->time |= option == 'T';
    if ((option == 't' && !parse("threads", optarg, 64, &options->threads))
        || (option == 'r' && !parse("repeat", optarg, UINT32_MAX, &options->repeat)))
      return false;
    if (option == '?') {
      fputs(usage, stderr);
      return false;
    }
  }
  options->file = optind < argc ? argv[optind] : NULL;
  if (argc - optind <= 1)
    return true;
  fprintf(stderr, "sudoku_validator: one board, please: %s\n%s", argv[optind + 1], usage);
  return false;
}

/// @return 0 = valid, 1 = not valid; negative: an error number
static int validate(const sudoku_t *board, const options_t *options)
{
  const uint32_t workers = (uint32_t)options->threads - 1; // and this thread
  ws_sched_t *sched = workers > 0 ? sched_init(workers, SUDOKU_PARTS) : NULL;
  if (workers > 0 && !sched)
    return -errno;
  sudoku_check_t check;
  sudoku_prepare(&check, board, options->repeat, options->noisy ? stdout : NULL);
  const int error = sudoku_run(&check, sched);
  sched_fini(sched);
  if (error)
    return error;
  sudoku_print(&check);
  return sudoku_is_valid(&check) ? 0 : 1;
}

int main(int argc, char **argv)
{
  options_t options = {.threads = SUDOKU_PARTS, .repeat = 1};
  sudoku_t board = built_in;
  if (!parse_options(argc, argv, &options) || (options.file && !read_board(options.file, &board)))
    return 2;
  if (options.time && options.threads == 1) {
    fprintf(stderr, "sudoku_validator: --time compares one thread with --threads 2 or more\n");
    return 2;
  }
  const int result = options.time ? sudoku_times(&board, (uint32_t)options.threads, options.repeat)
                                  : validate(&board, &options);
  if (result < 0)
    fprintf(stderr, "sudoku_validator: %s\n", strerror(-result));
  return result < 0 ? 2 : result;
}
