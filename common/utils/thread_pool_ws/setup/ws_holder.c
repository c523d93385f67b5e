// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_holder.c
/// ws_holder.h, from /proc/<process>/task/<thread>/stat (proc(5)).
#include "ws_holder.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../os/ws_os.h"

/// Of SCHED_DEADLINE, which <sched.h> names only for GNU programs: it stands above all priorities.
enum { POLICY_DEADLINE = 6, ABOVE_ALL = 100 };

typedef struct {
  uint32_t cpu;
  int32_t but;
  int32_t priority; ///< of the best thread so far
  char *text;
  size_t bytes;
} search_t;

static int32_t number_at(const char *dir_name)
{
  return dir_name[0] >= '0' && dir_name[0] <= '9' ? (int32_t)strtol(dir_name, NULL, 10) : 0;
}

static void look_at(search_t *search, int32_t process, int32_t thread)
{
  char path[64], stat[1024];
  snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", process, thread);
  if (thread == search->but || !ws_os_read(path, stat, sizeof(stat)))
    return;
  const char *name = strchr(stat, '('), *end = strrchr(stat, ')'); // the name may hold anything
  if (!name || !end || end[1] != ' ' || end[2] != 'R')
    return;
  int cpu, priority, policy; // fields 39 to 41; the state is field 3
  const char *field = end + 2;
  for (int at = 3; at < 39 && field; at++)
    field = strchr(field + 1, ' ');
  if (!field || sscanf(field, "%d %d %d", &cpu, &priority, &policy) != 3 || cpu != (int)search->cpu)
    return;
  if (policy == POLICY_DEADLINE)
    priority = ABOVE_ALL;
  if (priority <= search->priority)
    return;
  search->priority = priority;
  const char *class = policy == SCHED_FIFO ? "FIFO" : policy == SCHED_RR ? "RR" : "DEADLINE";
  snprintf(search->text, search->bytes, "thread %d \"%.*s\" of process %d (%s, priority %d)", thread,
           (int)(end - name - 1), name + 1, process, class, priority);
}

static void look_at_process(search_t *search, int32_t process)
{
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/task", process);
  DIR *threads = opendir(path);
  for (struct dirent *entry; threads && (entry = readdir(threads));)
    if (number_at(entry->d_name))
      look_at(search, process, number_at(entry->d_name));
  if (threads)
    closedir(threads);
}

void ws_holder_text(uint32_t cpu, int32_t but, char *text, size_t bytes)
{
  search_t search = {.cpu = cpu, .but = but, .text = text, .bytes = bytes};
  text[0] = '\0';
  DIR *processes = opendir("/proc");
  for (struct dirent *entry; processes && (entry = readdir(processes));)
    if (number_at(entry->d_name))
      look_at_process(&search, number_at(entry->d_name));
  if (processes)
    closedir(processes);
}
