// SPDX-License-Identifier: BSD-3-Clause
/// @file quote.c
/// quote.h. Every wait of the request ends at one deadline. Each error names what was found.
#define _GNU_SOURCE
#include "quote.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "ws_pool.h"

#define REPLY_MAX 4096

/// A request under way.
typedef struct {
  quote_t *quote;
  int socket;
  int64_t deadline_ms;
  char reply[REPLY_MAX + 1];
} request_t;

static int64_t now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/// @return false, so that a step can end with it
static bool failed(request_t *request, const char *what, const char *found)
{
  quote_t *quote = request->quote;
  snprintf(quote->error, sizeof quote->error, "%s%s%.40s", what, *found ? ": " : "", found);
  return false;
}

/// Wait until the socket is ready. A task spends its time here.
static bool wait_for(request_t *request, short events)
{
  struct pollfd polled = {.fd = request->socket, .events = events};
  int ready = -1;
  if (request->quote->marked)
    ws_blocking_begin(); // another worker may run meanwhile
  do {
    const int64_t left_ms = request->deadline_ms - now_ms();
    ready = left_ms > 0 ? poll(&polled, 1, (int)left_ms) : 0;
  } while (ready < 0 && errno == EINTR);
  if (request->quote->marked)
    ws_blocking_end();
  if (ready == 0)
    return failed(request, "no answer in time", "");
  return ready > 0 || failed(request, "poll", strerror(errno));
}

static bool connect_to_server(request_t *request)
{
  const struct sockaddr_in server = {.sin_family = AF_INET,
                                     .sin_port = htons(request->quote->port),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  request->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (request->socket < 0)
    return failed(request, "socket", strerror(errno));
  if (connect(request->socket, (const struct sockaddr *)&server, sizeof server) == 0)
    return true;
  if (errno != EINPROGRESS)
    return failed(request, "connect", strerror(errno));
  if (!wait_for(request, POLLOUT))
    return false;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(request->socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 || failed(request, "connect", strerror(error));
}

static bool send_request(request_t *request)
{
  char text[128];
  const int length = snprintf(text, sizeof text, "GET /quote/%s HTTP/1.0\r\nHost: localhost\r\n\r\n",
                              request->quote->symbol);
  for (int sent = 0; sent < length;) {
    const ssize_t more = send(request->socket, text + sent, (size_t)(length - sent), MSG_NOSIGNAL);
    if (more > 0)
      sent += (int)more;
    else if (errno != EAGAIN && errno != EINTR)
      return failed(request, "send", strerror(errno));
    else if (!wait_for(request, POLLOUT))
      return false;
  }
  return true;
}

/// Read all that the server sends until it closes the connection.
static bool read_reply(request_t *request)
{
  for (size_t size = 0;;) {
    if (!wait_for(request, POLLIN))
      return false;
    const ssize_t more = recv(request->socket, request->reply + size, REPLY_MAX - size, 0);
    if (more < 0 && errno != EAGAIN && errno != EINTR)
      return failed(request, "recv", strerror(errno));
    if (more <= 0) {
      request->reply[size] = '\0';
      if (more == 0)
        return strlen(request->reply) == size || failed(request, "the reply is no text", "");
      continue;
    }
    size += (size_t)more;
    if (size == REPLY_MAX)
      return failed(request, "the reply is longer than 4096 bytes", "");
  }
}

/// @return the text after the head; NULL = an error
static char *find_body(request_t *request)
{
  char *body = strstr(request->reply, "\r\n\r\n");
  int status = 0;
  if (sscanf(request->reply, "HTTP/1.%*1[01] %3d", &status) != 1 || !body) {
    request->reply[strcspn(request->reply, "\r\n")] = '\0';
    failed(request, "not an HTTP reply", request->reply);
    return NULL;
  }
  *body = '\0';
  body += 4;
  const char *length = strcasestr(request->reply, "\r\nContent-Length:");
  const bool whole = !length || strtoul(length + strlen("\r\nContent-Length:"), NULL, 10) == strlen(body);
  request->reply[strcspn(request->reply, "\r\n")] = '\0';
  if (status != 200)
    failed(request, "the server refused", strchr(request->reply, ' ') + 1);
  else if (!whole)
    failed(request, "the reply is cut off", "");
  return status == 200 && whole ? body : NULL;
}

static bool parse_body(request_t *request, char *body)
{
  quote_t *quote = request->quote;
  char symbol[QUOTE_SYMBOL_MAX + 1];
  int end = 0;
  body[strcspn(body, "\r\n")] = '\0';
  const int fields = sscanf(body, "%15[^,],%23[^,],%lf,%lf,%lf%n", symbol, quote->company,
                            &quote->cap_millions, &quote->price, &quote->change_percent, &end);
  if (fields != 5 || body[end] != '\0')
    return failed(request, "expected a symbol, a company and three numbers", body);
  return strcmp(symbol, quote->symbol) == 0 || failed(request, "a quote of another symbol", symbol);
}

void quote_get(quote_t *quote)
{
  request_t request = {.quote = quote, .socket = -1, .deadline_ms = now_ms() + quote->timeout_ms};
  quote->error[0] = '\0';
  if (connect_to_server(&request) && send_request(&request) && read_reply(&request)) {
    char *body = find_body(&request);
    if (body)
      parse_body(&request, body);
  }
  if (request.socket >= 0)
    close(request.socket);
}
