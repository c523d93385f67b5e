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
      message(FATAL_ERROR "thread_pool_ws: no ${file}: not the top of an OAI tree, or a version that the "
        "patches do not support")
    endif()
    file(READ "${file}" text)
    foreach(word IN ITEMS nr_rx_pusch_tp nr_rx_pusch_group_tp respDecode ulsch_to_decode)
      if(text MATCHES "[^A-Za-z0-9_]${word}[^A-Za-z0-9_]")
        string(APPEND words " ${word}")
      endif()
    endforeach()
  endforeach()
  if(words MATCHES "nr_rx_pusch_tp.* respDecode")
    set(shape fifo)
  elseif(words MATCHES "nr_rx_pusch_tp.* ulsch_to_decode")
    set(shape slot)
  elseif(words MATCHES "nr_rx_pusch_group_tp.* ulsch_to_decode")
    set(shape group)
  elseif(words MATCHES "respDecode" AND NOT words MATCHES "nr_rx_pusch")
    set(shape serial)
  else()
    message(FATAL_ERROR "thread_pool_ws: the patches do not know this OAI (${tree}): of nr_rx_pusch_tp, "
      "nr_rx_pusch_group_tp, respDecode and ulsch_to_decode its uplink has:${words}. Configure without THREAD_POOL_WS_PATCHES; the "
      "pool itself does not need them.")
  endif()
  set(${out} ${shape} PARENT_SCOPE)
endfunction()

# Sets <out> to what expected.txt says of a shape and of some sets: a list of "<rule>|<count>|<file>".
function(ws_patches_rules shape sets out)
  set(rules "")
  set(columns serial fifo slot group)
  list(FIND columns ${shape} column)
  file(STRINGS "${WS_PATCHES_DIR}/expected.txt" lines REGEX "^[a-z]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "[ \t]+" ";" fields "${line}")
    list(GET fields 0 rule)
    math(EXPR at "${column} + 1")
    list(GET fields ${at} count)
    list(GET fields 5 file)
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

# Sets <out> to our macros in a file, each as often as it stands there.
function(ws_patches_uses file out)
  file(READ "${file}" text)
  string(REGEX MATCHALL "WS_OAI_[A-Z_]+\\(" uses "${text}")
  string(REPLACE "(" "" uses "${uses}")
  set(${out} "${uses}" PARENT_SCOPE)
endfunction()

# Sets <out> to how often a macro stands in a list of uses.
function(ws_patches_count uses macro out)
  list(FILTER uses INCLUDE REGEX "^${macro}$")
  list(LENGTH uses count)
  set(${out} ${count} PARENT_SCOPE)
endfunction()

# Sets <out> to a text without our statements, white space and braces, which spatch adds where a branch had none.
function(ws_patches_bare text out)
  string(REGEX REPLACE "WS_OAI_[A-Z_]+\\([^;]*\\);" "" text "${text}")
  string(REGEX REPLACE "[{} \t\r\n]+" "" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Sets <out> to the line of the original where its copy begins to differ otherwise than it should; 0 = it does not.
function(ws_patches_difference original copy out)
  file(READ "${original}" text)
  file(READ "${copy}" patched)
  ws_patches_bare("${text}" bare)
  ws_patches_bare("${patched}" patched)
  if("${bare}" STREQUAL "${patched}")
    set(${out} 0 PARENT_SCOPE)
    return()
  endif()
  set(same 0) # so much of the original is in the copy, by bisection
  string(LENGTH "${text}" end)
  while(same LESS end)
    math(EXPR middle "(${same} + ${end} + 1) / 2")
    string(SUBSTRING "${text}" 0 ${middle} begin)
    ws_patches_bare("${begin}" begin)
    string(LENGTH "${begin}" length)
    string(SUBSTRING "${patched}" 0 ${length} copied)
    if("${begin}" STREQUAL "${copied}")
      set(same ${middle})
    else()
      math(EXPR end "${middle} - 1")
    endif()
  endwhile()
  string(SUBSTRING "${text}" 0 ${same} begin)
  string(REGEX MATCHALL "\n" lines "${begin}")
  list(LENGTH lines line)
  math(EXPR line "${line} + 1")
  set(${out} ${line} PARENT_SCOPE)
endfunction()

# Sets <out> to how many more braces a file opens than it closes.
function(ws_patches_braces file out)
  file(READ "${file}" text)
  string(REGEX REPLACE "[^{}]+" "" both "${text}")
  string(REPLACE "{" "" closed "${both}")
  string(LENGTH "${both}" both)
  string(LENGTH "${closed}" closed)
  math(EXPR open "${both} - 2 * ${closed}")
  set(${out} ${open} PARENT_SCOPE)
endfunction()

# Applies one rule to a file below <work> in place.
# spatch 1.1 does nothing, without a message, if a path has a space: it gets names below <work> only.
function(ws_patches_rule spatch rule work file)
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
endfunction()

# Appends to the text <out> what a rule has done to the copy of a file otherwise than it should. <before>: the uses of
# our macros in the copy until then.
function(ws_patches_compare tree work file rule expected before out)
  set(wrong "${${out}}")
  ws_patches_macros(${rule} own)
  ws_patches_uses("${work}/${file}" after)
  set(macros ${own} ${after})
  list(REMOVE_DUPLICATES macros)
  foreach(macro IN LISTS macros)
    ws_patches_count("${before}" ${macro} had)
    ws_patches_count("${after}" ${macro} has)
    math(EXPR added "${has} - ${had}")
    set(wanted 0)
    if(macro IN_LIST own)
      set(wanted ${expected})
      message(STATUS "thread_pool_ws: ${rule}: ${macro}: ${added} of ${wanted} in ${file}")
    endif()
    if(NOT added EQUAL wanted)
      string(APPEND wrong "\n  ${rule}: ${macro}: ${wanted} expected, ${added} added to ${file}")
    endif()
  endforeach()
  ws_patches_difference("${tree}/${file}" "${work}/${file}" line)
  ws_patches_braces("${tree}/${file}" open)
  ws_patches_braces("${work}/${file}" left)
  if(line)
    string(APPEND wrong "\n  ${rule}: changed more than it should: first difference near line ${line} of ${file}")
  elseif(NOT left EQUAL open)
    string(APPEND wrong "\n  ${rule}: changed more than it should: half a pair of braces in ${file}")
  endif()
  set(${out} "${wrong}" PARENT_SCOPE)
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
    ws_patches_uses("${work}/${file}" before)
    ws_patches_rule("${spatch}" ${rule} "${work}" "${file}")
    ws_patches_compare("${tree}" "${work}" "${file}" ${rule} ${expected} "${before}" wrong)
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
  set(sum 0)
  foreach(file IN LISTS files)
    ws_patches_uses("${work}/${file}" uses)
    list(LENGTH uses count)
    math(EXPR sum "${sum} + ${count}")
  endforeach()
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
  if(SPATCH MATCHES "/") # from where ws-patches was called, as in a shell
    get_filename_component(SPATCH "${SPATCH}" ABSOLUTE BASE_DIR "${CMAKE_BINARY_DIR}")
  endif()
  ws_patches_spatch("${SPATCH}" spatch)
  if(NOT spatch)
    message(FATAL_ERROR "${WS_PATCHES_NO_SPATCH}")
  endif()
  ws_patches_make("${TREE}" "${SETS}" "${spatch}" "${OUT}" files count)
  list(LENGTH files file_count)
  message(STATUS "thread_pool_ws: ${count} insertions in ${file_count} files")
endif()
