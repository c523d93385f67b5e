// SPDX-License-Identifier: BSD-3-Clause
/// @file echo.c
/// An echo server: a fiber for each connection. Use: echo PORT, or echo --check
#define _GNU_SOURCE // SOCK_NONBLOCK
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ws_fd.h"
#include "ws_fiber.h"

#define SILENT_S 60 // then a connection is closed
#define CLIENTS 20
#define MESSAGES 200

static ws_pool_t *pool;
static ws_cancel_t cancel; // ends the waits of all fibers

static uint64_t in_seconds(uint64_t seconds)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return ((uint64_t)now.tv_sec + seconds) * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool write_all(int fd, const char *text, int64_t bytes)
{
  for (int64_t more; bytes > 0; text += more, bytes -= more)
    if ((more = ws_fd_write(fd, text, (size_t)bytes, in_seconds(SILENT_S))) < 0)
      return false;
  return true;
}

static void serve(void *connection)
{
  const int fd = (int)(intptr_t)connection;
  char text[512];
  int64_t bytes;
  do
    bytes = ws_fd_read(fd, text, sizeof text, in_seconds(SILENT_S));
  while (bytes > 0 && write_all(fd, text, bytes));
  close(fd);
}

static void push(void (*func)(void *), int fd)
{
  ws_fiber_options_t options;
  ws_fiber_options_default(&options);
  options.cancel = &cancel;
  const int result = ws_fiber_push(pool, func, (void *)(intptr_t)fd, NULL, &options);
  if (result < 0) {
    fprintf(stderr, "echo: a fiber could not be started: %s\n", strerror(-result));
    close(fd);
  }
}

static void listen_on(void *listener)
{
  int fd;
  while ((fd = ws_fd_accept((int)(intptr_t)listener, WS_SYNC_NO_DEADLINE)) >= 0)
    push(serve, fd);
  if (!ws_cancel_requested(&cancel))
    fprintf(stderr, "echo: accept: %s\n", strerror(-fd));
}

/// @return a socket that listens on the loopback interface; ends the program if there is none
static int make_listener(uint16_t port)
{
  const struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), yes = 1;
  if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0
      && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && listen(fd, SOMAXCONN) == 0)
    return fd;
  fprintf(stderr, "echo: port %u: ", port);
  perror(NULL);
  exit(EXIT_FAILURE);
}

/// A client with a socket that blocks. @return NULL = it got back what it sent
static void *check(void *address)
{
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  char sent[64], received[64];
  int good = connect(fd, address, sizeof(struct sockaddr_in)) == 0 ? 0 : -MESSAGES;
  for (int i = 0; i < MESSAGES && good == i; i++) {
    snprintf(sent, sizeof sent, "message %d of %p", i, (void *)sent);
    good += send(fd, sent, sizeof sent, MSG_NOSIGNAL) == sizeof sent
            && recv(fd, received, sizeof received, MSG_WAITALL) == sizeof received
            && memcmp(sent, received, sizeof sent) == 0;
  }
  close(fd);
  return good == MESSAGES ? NULL : address;
}

static int check_all(int listener)
{
  struct sockaddr_in address;
  socklen_t bytes = sizeof address;
  getsockname(listener, (struct sockaddr *)&address, &bytes);
  pthread_t client[CLIENTS];
  int bad = 0;
  for (int i = 0; i < CLIENTS; i++)
    if (pthread_create(&client[i], NULL, check, &address) != 0)
      exit(EXIT_FAILURE);
  for (int i = 0; i < CLIENTS; i++) {
    void *failed;
    pthread_join(client[i], &failed);
    bad += failed != NULL;
  }
  ws_cancel_request(&cancel);
  printf("%d clients, %d messages each: %d clients failed\n", CLIENTS, MESSAGES, bad);
  return bad == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
  const bool checks = argc == 2 && strcmp(argv[1], "--check") == 0;
  char *rest = "";
  const long port = argc == 2 && !checks ? strtol(argv[1], &rest, 10) : 0;
  if (argc != 2 || *rest || (!checks && (port < 1 || port > 65535))) {
    fprintf(stderr, "use: echo PORT | --check\n");
    if (argc == 2)
      fprintf(stderr, "echo: port %s: not a number from 1 to 65535\n", argv[1]);
    return EXIT_FAILURE;
  }
  ws_settings_t settings;
  ws_settings_default(&settings);
  ws_cancel_init(&cancel);
  signal(SIGPIPE, SIG_IGN); // a connection that is gone is an error of the write
  const int error = ws_pool_create(&pool, &settings);
  if (error < 0) {
    fprintf(stderr, "echo: no pool: %s\n", strerror(-error));
    return EXIT_FAILURE;
  }
  const int listener = make_listener((uint16_t)port);
  push(listen_on, listener);
  const int result = checks ? check_all(listener) : EXIT_SUCCESS;
  ws_pool_wait(pool);
  close(listener);
  ws_pool_destroy(pool);
  return result;
}
