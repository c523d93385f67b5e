// SPDX-License-Identifier: BSD-3-Clause
/// @file cxx_plain.cpp
/// The headers as the host's C++ includes them: without extern "C", for the types and the queue alone.
#if !defined(CONTRACT_OURS)
#include <atomic> // theirs includes it where templates are not allowed
#endif
#if defined(CONTRACT_OURS) && !defined(CONTRACT_SHAPE_A)
#include "thread-pool.h"
using counter_t = _Atomic(int); // by that header alone, as in OAI's newest tree
#endif
#if !defined(CONTRACT_SHAPE_A)
#include "task_ans.h"
#endif
#include "thread-pool.h"
#if !defined(CONTRACT_SHAPE_A)
#include "notified_fifo.h"
#endif

#include <cstdint>
#include <vector>

bool cxx_plain();

namespace {

struct Owner {
  tpool_t pool;
  notifiedFIFO_t fifo;
#if !defined(CONTRACT_SHAPE_A)
  task_ans_t ans;
  thread_info_tm_t info;
#endif
};

} // namespace

bool cxx_plain()
{
  static Owner owner;
  std::vector<uint64_t> keys;
  initNotifiedFIFO(&owner.fifo);
  for (uint64_t key = 1; key <= 3; key++)
    pushNotifiedFIFO(&owner.fifo, newNotifiedFIFO_elt(4, key, &owner.fifo, nullptr));
  while (notifiedFIFO_elt_t *elt = pollNotifiedFIFO(&owner.fifo)) {
    keys.push_back(elt->key);
    delNotifiedFIFO_elt(elt);
  }
  abortNotifiedFIFO(&owner.fifo);
#if !defined(CONTRACT_SHAPE_A)
  owner.info.ans = &owner.ans;
  owner.info.len = owner.info.cap = 0;
  owner.info.buf = nullptr;
#endif
  return keys == std::vector<uint64_t>{1, 2, 3} && pullNotifiedFIFO(&owner.fifo) == nullptr;
}
