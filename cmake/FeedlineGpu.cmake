# SPDX-License-Identifier: Apache-2.0
#
# Tests on real hardware: `ctest -L gpu`. Where there is none they are skipped
# with the library's own reason; FDL_TEST_GPU=1 in the environment makes that a
# failure, for machines that are known to have one.

# feedline_gpu_test(NAME COMMAND program argument... [TIMEOUT s]
#                   [ENVIRONMENT name=value...])
function(feedline_gpu_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;ENVIRONMENT")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND gpu_there ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES
    LABELS gpu SKIP_RETURN_CODE 77 TIMEOUT ${arg_TIMEOUT} RESOURCE_LOCK gpu
    ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()
