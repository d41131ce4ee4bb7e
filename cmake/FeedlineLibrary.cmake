# SPDX-License-Identifier: Apache-2.0
#
# The rooms become one library: shared with hidden symbols, static, and a
# static one for our own tests that keeps every internal symbol.
get_property(rooms GLOBAL PROPERTY FEEDLINE_ROOMS)
get_property(libraries GLOBAL PROPERTY FEEDLINE_LIBRARIES)
list(REMOVE_DUPLICATES libraries)
foreach(room ${rooms})
  list(APPEND objects $<TARGET_OBJECTS:${room}>)
endforeach()

add_library(feedline_internal STATIC EXCLUDE_FROM_ALL ${objects})
target_link_libraries(feedline_internal PUBLIC ${libraries})
if(FEEDLINE_COVERAGE)
  target_sources(feedline_internal PRIVATE cmake/coverage_exit.c)
endif()

add_library(feedline SHARED ${objects})
target_link_libraries(feedline PRIVATE ${libraries})
feedline_shipped(feedline) # cmake/own_stderr.c is its own
set_target_properties(feedline PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINKER_LANGUAGE C LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/feedline.map)
target_link_options(feedline PRIVATE
  -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/feedline.map)
if(FEEDLINE_STATIC_DEPENDENCIES) # cmake/own_stderr.c says why
  target_sources(feedline PRIVATE cmake/own_stderr.c)
  target_link_options(feedline PRIVATE -Wl,--exclude-libs,ALL
                      -Wl,--wrap=stderr)
endif()
if(NOT FEEDLINE_SANITIZE) # a sanitizer's symbols are in the program
  target_link_options(feedline PRIVATE -Wl,--no-undefined)
endif()

add_library(feedline_static STATIC ${objects})
target_link_libraries(feedline_static PRIVATE ${libraries})
set_target_properties(feedline_static PROPERTIES OUTPUT_NAME feedline)

# The names that an installed feedline has, for those who build it themselves.
foreach(target feedline feedline_static)
  add_library(feedline::${target} ALIAS ${target})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

# What files are decoded in with isolate=decode: base and decode, and no more.
set(isolate ${PROJECT_SOURCE_DIR}/decode/isolate/isolate)
add_library(feedline_decode_parts STATIC EXCLUDE_FROM_ALL
  $<TARGET_OBJECTS:feedline_base> $<TARGET_OBJECTS:feedline_decode>)
get_target_property(libraries_of_decode feedline_decode LINK_LIBRARIES)
add_executable(feedline_decode_program ${isolate}_program.c ${isolate}_serve.c
  ${isolate}_confine.c)
target_link_libraries(feedline_decode_program PRIVATE feedline_decode_parts
  ${libraries_of_decode} Threads::Threads)
feedline_shipped(feedline_decode_program)
set_target_properties(feedline_decode_program PROPERTIES
  OUTPUT_NAME feedline-decode)
