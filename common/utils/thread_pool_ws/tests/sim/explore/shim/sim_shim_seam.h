// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_shim_seam.h
/// Included after sim_seam.h and before the first line of the explorer's core, of the shims' sources, and of
/// the scenarios that call them (gcc -include). The program holds all shapes of the shim: each has names of
/// its own here, which begin with SIM_SHAPE. The heap is one that notices what is touched too late
/// (sim_heap.h).
#ifndef SIM_SHIM_SEAM_H
#define SIM_SHIM_SEAM_H

#define aligned_alloc sim_heap_memalign
#define calloc sim_heap_calloc
#define free sim_heap_free
#define malloc sim_heap_malloc
#define memalign sim_heap_memalign

#ifdef SIM_SHAPE
#define SIM_PASTE(shape, name) shape##_##name
#define SIM_EXPAND(shape, name) SIM_PASTE(shape, name)
#define SIM_NAME(name) SIM_EXPAND(SIM_SHAPE, name)
#define abortTpool SIM_NAME(abortTpool)
#define completed_many_task_ans SIM_NAME(completed_many_task_ans)
#define completed_task_ans SIM_NAME(completed_task_ans)
#define get_tpool_worker_index SIM_NAME(get_tpool_worker_index)
#define initFloatingCoresTpool SIM_NAME(initFloatingCoresTpool)
#define initNamedTpool SIM_NAME(initNamedTpool)
#define init_task_ans SIM_NAME(init_task_ans)
#define join_task_ans SIM_NAME(join_task_ans)
#define pullTpool SIM_NAME(pullTpool)
#define pushTpool SIM_NAME(pushTpool)
#define tryPullTpool SIM_NAME(tryPullTpool)
#define ws_oai_phase_begin SIM_NAME(ws_oai_phase_begin)
#define ws_oai_phase_end SIM_NAME(ws_oai_phase_end)
#define ws_oai_prewake SIM_NAME(ws_oai_prewake)
#define ws_tpool_of SIM_NAME(ws_tpool_of)
#define ws_tpool_tag SIM_NAME(ws_tpool_tag)
#define sim_front_here SIM_NAME(front)
#endif

#endif
