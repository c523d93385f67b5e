// SPDX-License-Identifier: BSD-3-Clause
/// @file thread-pool.c
/// thread-pool.h
#include <threadPool/thread-pool.h>

void model_run(notifiedFIFO_elt_t *elt)
{
  elt->processingFunc(NotifiedFifoData(elt));
  if (elt->reponseFifo)
    pushNotifiedFIFO(elt->reponseFifo, elt);
  else
    delNotifiedFIFO_elt(elt);
}

static void *loop(void *arg)
{
  tpool_t *pool = arg;
  for (notifiedFIFO_elt_t *elt; (elt = pullNotifiedFIFO(&pool->incomingFifo)) != NULL;)
    model_run(elt);
  return NULL;
}

int abortTpool(tpool_t *pool)
{
  pool->activated = false;
  abortNotifiedFIFO(&pool->incomingFifo);
  for (int i = 0; i < pool->nbThreads; i++)
    pthread_join(pool->threads[i], NULL);
  free(pool->threads);
  pool->threads = NULL;
  return pool->nbThreads;
}

void initNamedTpool(char *params, tpool_t *pool, bool performanceMeas, char *name)
{
  (void)performanceMeas;
  int count = 1;
  for (const char *c = params; *c; c++)
    count += *c == ',';
  initNotifiedFIFO(&pool->incomingFifo);
  pool->activated = params[0] != 'n';
  pool->nbThreads = pool->activated ? count : 0;
  pool->threads = calloc((size_t)count, sizeof(*pool->threads));
  for (int i = 0; i < pool->nbThreads; i++)
    threadCreate(&pool->threads[i], loop, pool, name ? name : (char *)"Tpool", -1, OAI_PRIORITY_RT_MAX);
}

void initFloatingCoresTpool(int nbThreads, tpool_t *pool, bool performanceMeas, char *name)
{
  char params[1024] = "n";
  for (int i = 0, at = 0; i < nbThreads; i++)
    at += snprintf(params + at, sizeof(params) - (size_t)at, i ? ",-1" : "-1");
  initNamedTpool(params, pool, performanceMeas, name);
}
