# SPDX-License-Identifier: Apache-2.0
#
# What a packager gets: headers, both libraries, and how to find them by
# pkg-config and by CMake. The installed tree may be moved: neither names where
# it lies. loaderbench installs itself.
include(CMakePackageConfigHelpers)

install(FILES include/feedline/bench.h include/feedline/custom_op.h
              include/feedline/draws.h include/feedline/elsewhere.h
              include/feedline/exchange.h
              include/feedline/feedline.h include/feedline/fields.h
              include/feedline/files.h include/feedline/job.h
              include/feedline/live.h
              include/feedline/masks.h include/feedline/objects.h
              include/feedline/order.h include/feedline/packed.h
              include/feedline/recorded.h include/feedline/shuffle.h
              include/feedline/source.h include/feedline/statistics.h
              include/feedline/targets.h include/feedline/traces.h
              include/feedline/tuning.h include/feedline/views.h
              include/feedline/watch.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/feedline)
install(FILES LICENSE CHANGES SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Help and messages name them as docs/NAME.md.
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN *.md
        PATTERN man EXCLUDE PATTERN pictures EXCLUDE PATTERN site EXCLUDE)
install(FILES examples/minimal.c examples/train_cuda.c examples/train_cpu.c
              examples/train_gpu.cu examples/train_kernels.h
              examples/train_model.h
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

# Two sets, as only the static library needs others to be found.
install(TARGETS feedline EXPORT feedlineTargets)
install(TARGETS feedline_static EXPORT feedlineStaticTargets)
# The library looks for it from where it lies itself, and so does a program that
# it is linked into.
install(TARGETS feedline_decode_program
        RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/feedline)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/feedline)
foreach(set feedlineTargets feedlineStaticTargets)
  install(EXPORT ${set} NAMESPACE feedline:: DESTINATION ${config_dir})
endforeach()

configure_package_config_file(cmake/feedlineConfig.cmake.in
  ${PROJECT_BINARY_DIR}/feedlineConfig.cmake INSTALL_DESTINATION ${config_dir})
# While the major version is 0, a new minor one may change anything.
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/feedlineConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/feedlineConfig.cmake
              ${PROJECT_BINARY_DIR}/feedlineConfigVersion.cmake
        DESTINATION ${config_dir})

# The manual, where there is scdoc to make it.
find_program(SCDOC scdoc)
set(manual feedline-options.7)
if(FEEDLINE_TOOLS)
  list(APPEND manual loaderbench.1)
endif()
if(NOT SCDOC)
  set(manual "")
endif()
foreach(page ${manual})
  set(source ${PROJECT_SOURCE_DIR}/docs/man/${page}.scd)
  set(made ${PROJECT_BINARY_DIR}/${page})
  add_custom_command(OUTPUT ${made} DEPENDS ${source} VERBATIM
    COMMAND sh -c "'${SCDOC}' < '${source}' > '${made}'")
  list(APPEND manual_made ${made})
  string(REGEX REPLACE ".*\\." "" section ${page})
  install(FILES ${made} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
add_custom_target(feedline_manual ALL DEPENDS ${manual_made})

# pkg-config: from where feedline.pc lies, unless folders were given whole.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(FEEDLINE_PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
  file(RELATIVE_PATH FEEDLINE_PC_PREFIX ${pc_dir} ${CMAKE_INSTALL_PREFIX})
else()
  set(FEEDLINE_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH FEEDLINE_PC_PREFIX /${pc_dir} /)
endif()
string(REGEX REPLACE "/$" "" FEEDLINE_PC_PREFIX "${FEEDLINE_PC_PREFIX}")
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(FEEDLINE_PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(FEEDLINE_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()

# The rooms name their libraries as CMake targets; a linker wants -l. libpng and
# libwebp need mathematics, and a static library comes before what it needs.
list(REMOVE_ITEM libraries m)
list(APPEND libraries m)
set(FEEDLINE_PC_LIBS_PRIVATE "")
foreach(library ${libraries})
  if(library STREQUAL "Threads::Threads")
    set(flag -pthread)
  elseif(library STREQUAL "JPEG::JPEG")
    set(flag -ljpeg)
  elseif(library STREQUAL "PNG::PNG")
    set(flag "-lpng -lz")
  elseif(library STREQUAL "PkgConfig::WEBP")
    set(flag "-lwebpdemux -lwebp")
  elseif(library STREQUAL "PkgConfig::URING")
    set(flag -luring)
  elseif(library MATCHES "^[a-z]+$")
    set(flag -l${library})
  else()
    message(FATAL_ERROR "feedline.pc: how is ${library} linked?")
  endif()
  string(APPEND FEEDLINE_PC_LIBS_PRIVATE " ${flag}")
endforeach()
include(FeedlineSbom)
install(FILES ${PROJECT_BINARY_DIR}/feedline.cdx.json
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
configure_file(cmake/feedline.pc.in ${PROJECT_BINARY_DIR}/feedline.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/feedline.pc DESTINATION ${pc_dir})
