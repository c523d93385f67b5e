# SPDX-License-Identifier: BSD-3-Clause
# Applies the semantic patches of this folder to copies of OAI's files and counts what they add. Included by the
# hook (cmake_targets/thread_pool_ws_patches.cmake); run as a script by ws-patches:
#
#   cmake -DTREE=<OAI> -DOUT=<folder for the copies> [-DSETS=<trace;prewake>] [-DSPATCH=<program>] -P apply.cmake
#
# Nothing is written but below OUT, and to the temporary folder of spatch.
cmake_policy(VERSION 3.16) # of this file only
set(WS_PATCHES_DIR "${CMAKE_CURRENT_LIST_DIR}")
set(WS_PATCHES_SETS trace prewake)
if(NOT WS_PATCHES_SECONDS)
  set(WS_PATCHES_SECONDS 120) # for one rule on one file
endif()

# Sets <out> to the shape of the tree's uplink, told by its content; the shapes are columns of expected.txt.
function(ws_patches_shape tree out)
  set(words "")
  foreach(source IN ITEMS PHY/NR_TRANSPORT/nr_ulsch_demodulation.c SCHED_NR/phy_procedures_nr_gNB.c)
    set(file "${tree}/openair1/${source}")
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "thread_pool_ws: no ${file}: not the top of an OAI tree, or one that the patches do "
        "not know")
    endif()
    file(READ "${file}" text)
    foreach(word IN ITEMS nr_rx_pusch_tp respDecode ulsch_to_decode)
      if(text MATCHES "[^A-Za-z0-9_]${word}[^A-Za-z0-9_]")
        string(APPEND words " ${word}")
      endif()
    endforeach()
  endforeach()
  if(words MATCHES "nr_rx_pusch_tp.* respDecode")
    set(shape fifo)
  elseif(words MATCHES "nr_rx_pusch_tp.* ulsch_to_decode")
    set(shape slot)
  elseif(words MATCHES "respDecode" AND NOT words MATCHES "nr_rx_pusch_tp")
    set(shape serial)
  else()
    message(FATAL_ERROR "thread_pool_ws: the patches do not know this OAI (${tree}): of nr_rx_pusch_tp, "
      "respDecode and ulsch_to_decode its uplink has:${words}. Configure without THREAD_POOL_WS_PATCHES; the "
      "pool itself does not need them.")
  endif()
  set(${out} ${shape} PARENT_SCOPE)
endfunction()

# Sets <out> to what expected.txt says of a shape and of some sets: a list of "<rule>|<count>|<file>".
function(ws_patches_rules shape sets out)
  set(rules "")
  set(columns serial fifo slot)
  list(FIND columns ${shape} column)
  file(STRINGS "${WS_PATCHES_DIR}/expected.txt" lines REGEX "^[a-z]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "[ \t]+" ";" fields "${line}")
    list(GET fields 0 rule)
    math(EXPR at "${column} + 1")
    list(GET fields ${at} count)
    list(GET fields 4 file)
    get_filename_component(set "${rule}" DIRECTORY)
    if(NOT count STREQUAL "-" AND set IN_LIST sets)
      list(APPEND rules "${rule}|${count}|${file}")
    endif()
  endforeach()
  set(${out} "${rules}" PARENT_SCOPE)
endfunction()

# Sets <out> to the macros that a rule adds.
function(ws_patches_macros rule out)
  file(STRINGS "${WS_PATCHES_DIR}/${rule}.cocci" lines REGEX "^\\+")
  string(REGEX MATCHALL "WS_OAI_[A-Z_]+" macros "${lines}")
  list(REMOVE_DUPLICATES macros)
  set(${out} "${macros}" PARENT_SCOPE)
endfunction()

# Sets <out> to how often a macro stands in a file.
function(ws_patches_count file macro out)
  file(READ "${file}" text)
  string(REGEX MATCHALL "${macro}\\(" found "${text}")
  list(LENGTH found count)
  set(${out} ${count} PARENT_SCOPE)
endfunction()

# Sets <out> to a file without our statements, white space and braces, which spatch adds where a branch had none.
function(ws_patches_bare file out)
  file(READ "${file}" text)
  string(REGEX REPLACE "WS_OAI_[A-Z_]+\\([^;]*\\);" "" text "${text}")
  string(REGEX REPLACE "[{} \t\r\n]+" "" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Applies one rule to a file below <work> in place, and sets <out> to a list of "<macro>|<how many it has added>".
# spatch 1.1 does nothing, without a word, where a path has a space: it gets names below <work> only.
function(ws_patches_rule spatch rule work file out)
  ws_patches_macros(${rule} macros)
  foreach(macro IN LISTS macros)
    ws_patches_count("${work}/${file}" ${macro} before_${macro})
  endforeach()
  configure_file("${WS_PATCHES_DIR}/macros.h" "${work}/macros.h" COPYONLY)
  configure_file("${WS_PATCHES_DIR}/${rule}.cocci" "${work}/${rule}.cocci" COPYONLY)
  execute_process(
    COMMAND "${spatch}" --very-quiet --no-includes --no-show-diff --macro-file macros.h
      --sp-file "${rule}.cocci" --in-place "${file}"
    WORKING_DIRECTORY "${work}"
    TIMEOUT ${WS_PATCHES_SECONDS} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    message(FATAL_ERROR "thread_pool_ws: spatch failed with ${rule}.cocci on ${file} (${failed}; it has "
      "${WS_PATCHES_SECONDS} s):\n${said}")
  endif()
  set(added "")
  foreach(macro IN LISTS macros)
    ws_patches_count("${work}/${file}" ${macro} after)
    math(EXPR count "${after} - ${before_${macro}}")
    list(APPEND added "${macro}|${count}")
  endforeach()
  set(${out} "${added}" PARENT_SCOPE)
endfunction()

# Copies a file of the tree below <work>. By reading: the tree may be read-only, and the copy is written to.
function(ws_patches_fetch tree file work)
  file(READ "${tree}/${file}" text)
  if(text MATCHES "WS_OAI_[A-Z_]+\\(")
    message(FATAL_ERROR "thread_pool_ws: ${tree}/${file} carries the patches' marks already, as if the output of "
      "ws-patches --diff had been applied to it. Take it back: the patches go into copies, the tree stays as it "
      "is. Or configure without THREAD_POOL_WS_PATCHES.")
  endif()
  file(WRITE "${work}/${file}" "${text}")
endfunction()

# Makes patched copies below <work>, at the same paths as in the tree. Stops when a rule does not add what
# expected.txt says. Sets <out_files> to the paths, <out_count> to the number of statements added.
function(ws_patches_make tree sets spatch work out_files out_count)
  ws_patches_shape("${tree}" shape)
  ws_patches_rules(${shape} "${sets}" rules)
  set(files "")
  set(sum 0)
  set(wrong "")
  foreach(entry IN LISTS rules)
    string(REPLACE "|" ";" entry "${entry}")
    list(GET entry 0 rule)
    list(GET entry 1 expected)
    list(GET entry 2 file)
    if(NOT EXISTS "${tree}/${file}")
      string(APPEND wrong "\n  ${rule}: no file ${file}")
      continue()
    endif()
    if(NOT file IN_LIST files)
      list(APPEND files "${file}")
      ws_patches_fetch("${tree}" "${file}" "${work}")
    endif()
    ws_patches_rule("${spatch}" ${rule} "${work}" "${file}" added)
    foreach(pair IN LISTS added)
      string(REPLACE "|" ";" pair "${pair}")
      list(GET pair 0 macro)
      list(GET pair 1 count)
      math(EXPR sum "${sum} + ${count}")
      message(STATUS "thread_pool_ws: ${rule}: ${macro}: ${count} of ${expected} in ${file}")
      if(NOT count EQUAL expected)
        string(APPEND wrong "\n  ${rule}: ${macro}: ${expected} expected, ${count} added to ${file}")
      endif()
    endforeach()
  endforeach()
  foreach(file IN LISTS files)
    ws_patches_bare("${tree}/${file}" original)
    ws_patches_bare("${work}/${file}" patched)
    if(NOT "${original}" STREQUAL "${patched}")
      string(APPEND wrong "\n  ${file}: spatch has changed more than what the rules add")
    endif()
  endforeach()
  list(JOIN files "\n" lines)
  file(WRITE "${work}/files.txt" "${lines}\n") # for ws-patches --diff, which shows what it can in any case
  if(wrong)
    message(FATAL_ERROR "thread_pool_ws: patches do not fit this OAI (${tree}, shape ${shape}):${wrong}\n"
      "Either the files were edited, or this OAI is one that the patches do not know. Configure without "
      "THREAD_POOL_WS_PATCHES (-UTHREAD_POOL_WS_PATCHES takes it out of the cache), or with the other set "
      "alone; or adapt the rule and ${WS_PATCHES_DIR}/expected.txt, and look at the result with "
      "${WS_PATCHES_DIR}/ws-patches --diff.")
  endif()
  set(${out_files} "${files}" PARENT_SCOPE)
  set(${out_count} ${sum} PARENT_SCOPE)
endfunction()

# Sets <out> to spatch, empty when there is none. <wanted>: a program to take instead of looking for one; stops
# when that is not there.
function(ws_patches_spatch wanted out)
  set(name "${wanted}")
  if(NOT name)
    set(name spatch)
  endif()
  if(IS_ABSOLUTE "${name}")
    set(WS_PATCHES_PROGRAM "${name}")
  else()
    find_program(WS_PATCHES_PROGRAM "${name}")
    set(WS_PATCHES_PROGRAM "${WS_PATCHES_PROGRAM}") # outlives the next line; later ones look again
    unset(WS_PATCHES_PROGRAM CACHE)
  endif()
  if(NOT WS_PATCHES_PROGRAM OR NOT EXISTS "${WS_PATCHES_PROGRAM}")
    if(wanted)
      message(FATAL_ERROR "thread_pool_ws: there is no ${wanted}, which was named as spatch")
    endif()
    set(WS_PATCHES_PROGRAM "")
  endif()
  set(${out} "${WS_PATCHES_PROGRAM}" PARENT_SCOPE)
endfunction()

set(WS_PATCHES_NO_SPATCH "spatch was not found. It is in the package coccinelle of Debian, Ubuntu and Fedora")

# As a script.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  if(NOT SETS)
    set(SETS ${WS_PATCHES_SETS})
  endif()
  ws_patches_spatch("${SPATCH}" spatch)
  if(NOT spatch)
    message(FATAL_ERROR "${WS_PATCHES_NO_SPATCH}")
  endif()
  ws_patches_make("${TREE}" "${SETS}" "${spatch}" "${OUT}" files count)
  list(LENGTH files file_count)
  message(STATUS "thread_pool_ws: ${count} insertions in ${file_count} files")
endif()
