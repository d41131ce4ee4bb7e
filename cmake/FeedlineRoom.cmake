# SPDX-License-Identifier: Apache-2.0

# feedline_room(NAME SOURCES file... [LIBRARIES lib...]): one room of the house.
# LIBRARIES are linked into the library and into the room's tests.
function(feedline_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  add_library(feedline_${name} OBJECT ${arg_SOURCES})
  target_link_libraries(feedline_${name} PRIVATE feedline_flags
                        ${arg_LIBRARIES})
  feedline_shipped(feedline_${name})
  if(FEEDLINE_COVERAGE)
    target_compile_options(feedline_${name} PRIVATE
      ${profiles} -fcoverage-mapping -fprofile-update=atomic)
  endif()
  set_property(GLOBAL APPEND PROPERTY FEEDLINE_ROOMS feedline_${name})
  set_property(GLOBAL APPEND PROPERTY FEEDLINE_LIBRARIES ${arg_LIBRARIES})
endfunction()

# feedline_in(OUT FOLDER name...): the files FOLDER/name.c, appended to OUT.
function(feedline_in out folder)
  list(TRANSFORM ARGN PREPEND ${folder}/)
  list(TRANSFORM ARGN APPEND .c)
  set(${out} ${${out}} ${ARGN} PARENT_SCOPE)
endfunction()

# feedline_ptx(PTX IN OUT): the text PTX, which cmake/make_ptx makes, goes to
# the array of IN, in the build folder's OUT.
function(feedline_ptx ptx in out)
  set(FEEDLINE_PTX "")
  if(FEEDLINE_CUDA)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                 ${CMAKE_CURRENT_SOURCE_DIR}/${ptx})
    file(READ ${ptx} FEEDLINE_PTX HEX)
    string(REGEX REPLACE "(................................)" "\\1\n"
           FEEDLINE_PTX "${FEEDLINE_PTX}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," FEEDLINE_PTX
           "${FEEDLINE_PTX}")
  endif()
  configure_file(${in} ${out} @ONLY)
endfunction()

# feedline_listed(OUT HEADER MACRO [PREFIX]): the files PREFIXname.c that exist
# for a MACRO(name) on a line of its own in HEADER, so that such a list is
# written once.
function(feedline_listed out header macro)
  set(prefix ${ARGN})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(READ ${header} text)
  string(REGEX MATCHALL "\n +${macro}\\([a-z0-9_]+" uses "${text}")
  set(sources)
  foreach(use ${uses})
    string(REGEX REPLACE ".*\\(" "" name "${use}")
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${prefix}${name}.c)
      list(APPEND sources ${prefix}${name}.c)
    endif()
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# feedline_test(NAME SOURCES file... [LIBRARIES lib...] [TIMEOUT s]
#               [LABELS l...] [LINK_OPTIONS o...] [VARIANTS v...]):
# one test binary on the static library with all its symbols. Each TEST(case)
# in its sources becomes one CTest entry, in a process of its own; exit status
# 77 is a skip. TEST_EACH(case), a macro of the source, defines a case for each
# of the VARIANTS: variant_case.
function(feedline_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT"
                        "SOURCES;LIBRARIES;LABELS;LINK_OPTIONS;VARIANTS")
  # A time limit ends what hangs; it judges no speed, not of a slow machine that
  # others use as well. Sanitizers cost a factor.
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(FEEDLINE_SANITIZE)
    math(EXPR arg_TIMEOUT "4 * ${arg_TIMEOUT}")
  endif()
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE feedline_flags feedline_internal
                        PkgConfig::CMOCKA ${arg_LIBRARIES})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE
    FDL_TEST_DATA_DEFAULT="${PROJECT_SOURCE_DIR}/../shared/data")
  target_link_options(test_${name} PRIVATE ${arg_LINK_OPTIONS})
  foreach(source ${arg_SOURCES})
    file(REAL_PATH ${source} source)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(STRINGS ${source} lines REGEX "^TEST(_WITH|_EACH)?\\([a-z0-9_]+")
    foreach(line ${lines})
      string(REGEX REPLACE "^TEST[A-Z_]*\\(([a-z0-9_]+).*" "\\1" cases ${line})
      if(line MATCHES "^TEST_EACH")
        list(TRANSFORM arg_VARIANTS APPEND _${cases} OUTPUT_VARIABLE cases)
      endif()
      foreach(case ${cases})
        add_test(NAME ${name}.${case} COMMAND test_${name} ${case})
        set_tests_properties(${name}.${case} PROPERTIES
          TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77 LABELS "${arg_LABELS}")
      endforeach()
    endforeach()
  endforeach()
endfunction()

# feedline_decodes_apart(TARGET): TEST_DECODE_PROGRAM is the program that
# isolate=decode starts, which is built.
function(feedline_decodes_apart target)
  add_dependencies(${target} feedline_decode_program)
  target_compile_definitions(${target} PRIVATE
    TEST_DECODE_PROGRAM="$<TARGET_FILE:feedline_decode_program>")
endfunction()

# feedline_perturbed_test(NAME case...): perturbed_NAME.case, those cases of a
# feedline_test above it with threads that dawdle where they hand over, as
# tests/perturb.c says, which names the functions.
function(feedline_perturbed_test name)
  set(source ${PROJECT_SOURCE_DIR}/tests/perturb.c)
  set(test test_perturbed_${name})
  get_target_property(sources test_${name} SOURCES)
  add_executable(${test} ${sources} ${source})
  foreach(what LINK_LIBRARIES LINK_OPTIONS INCLUDE_DIRECTORIES
          COMPILE_DEFINITIONS)
    get_target_property(values test_${name} ${what})
    if(values)
      set_property(TARGET ${test} PROPERTY ${what} ${values})
    endif()
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(STRINGS ${source} lines REGEX "^(GETS|DOES)\\(")
  foreach(line ${lines})
    string(REGEX MATCH "[a-z_]+, \\(" wrapped "${line}")
    string(REPLACE ", (" "" wrapped "${wrapped}")
    target_link_options(${test} PRIVATE -Wl,--wrap=${wrapped})
  endforeach()
  foreach(case ${ARGN})
    get_test_property(${name}.${case} TIMEOUT limit)
    add_test(NAME perturbed_${name}.${case} COMMAND ${test} ${case})
    set_tests_properties(perturbed_${name}.${case} PROPERTIES
      TIMEOUT ${limit} SKIP_RETURN_CODE 77)
  endforeach()
endfunction()

# feedline_label(): each test of this folder has the folder's name as a label,
# also those that come after this line. The directory's own LABELS would do, but
# ctest 3.25 overlooks them in tests with a WORKING_DIRECTORY. What an emulator
# runs has time enough for that.
function(feedline_label)
  cmake_language(DEFER CALL feedline_label_all)
endfunction()

function(feedline_label_all)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  get_property(tests DIRECTORY PROPERTY TESTS)
  if(tests)
    set_property(TEST ${tests} APPEND PROPERTY LABELS ${folder})
  endif()
  if(CMAKE_CROSSCOMPILING)
    foreach(test ${tests})
      get_property(limit TEST ${test} PROPERTY TIMEOUT)
      if(limit)
        math(EXPR limit "12 * ${limit}")
        set_property(TEST ${test} PROPERTY TIMEOUT ${limit})
      endif()
    endforeach()
  endif()
  if(FEEDLINE_COVERAGE) # %m alone takes programs of the same rooms for one
    set(profraw ${PROJECT_BINARY_DIR}/profiles)
    foreach(test ${tests})
      string(REGEX REPLACE "[.].*" "" program ${test})
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT_MODIFICATION
        LLVM_PROFILE_FILE=set:${profraw}/${program}-%2m.profraw)
    endforeach()
  endif()
endfunction()

# feedline_once(PATTERN): the tests of this folder whose names match are about
# results, or about the tree itself, and not about what another compiler or a
# sanitizer makes of the code: labelled `once`, and left out of such builds in
# CI.
function(feedline_once pattern)
  get_property(tests DIRECTORY PROPERTY TESTS)
  list(FILTER tests INCLUDE REGEX "${pattern}")
  set_property(TEST ${tests} APPEND PROPERTY LABELS once)
endfunction()

# feedline_cases(NAME SCRIPT [TIMEOUT S] [LABELS ...] [ARGUMENTS ...]
# [ENVIRONMENT ...]): each function case_X of a Python script is the test
# NAME.X, in a process of its own; exit status 77 is a skip.
function(feedline_cases name script)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT"
                        "LABELS;ARGUMENTS;ENVIRONMENT")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set(path ${CMAKE_CURRENT_SOURCE_DIR}/${script})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(STRINGS ${path} lines REGEX "^def case_")
  foreach(line ${lines})
    string(REGEX REPLACE "^def case_([a-z0-9_]+).*" "\\1" case "${line}")
    add_test(NAME ${name}.${case}
      COMMAND ${FEEDLINE_PYTHON} -B ${path} ${case} ${arg_ARGUMENTS})
    set_tests_properties(${name}.${case} PROPERTIES
      TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77 LABELS "${arg_LABELS}"
      ENVIRONMENT "${arg_ENVIRONMENT}")
  endforeach()
endfunction()
