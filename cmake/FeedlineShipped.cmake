# SPDX-License-Identifier: Apache-2.0
#
# How what others run is compiled, beyond what it needs to run: hardened and, if
# that is asked for, the same everywhere, to the byte (scripts/reproducible).
# tests/install/check_hardened looks at what came out.
option(FEEDLINE_HARDENING
  "Checks of stack and buffers, and tables of the linker that stay read-only"
  ON)
set(reproducible OFF) # a debugger finds files by their names
if(SKBUILD OR DEFINED ENV{SOURCE_DATE_EPOCH})
  set(reproducible ON)
endif()
option(FEEDLINE_REPRODUCIBLE
  "No name of a folder in debug data; ON where SOURCE_DATE_EPOCH is set"
  ${reproducible})

include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported() # or CMake compiles for it, and does not link so

# Where a sanitizer looks, these would be in its way.
set(hardening_compile "")
set(hardening_link "")
if(FEEDLINE_HARDENING AND NOT FEEDLINE_SANITIZE)
  set(hardening_link -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code)
  foreach(flag stack-protector-strong stack-clash-protection)
    string(MAKE_C_IDENTIFIER FEEDLINE_HAVE_${flag} have)
    check_c_compiler_flag(-f${flag} ${have})
    if(${have})
      list(APPEND hardening_compile -f${flag})
    endif()
  endforeach()
  # Jumps and returns go where they should, on processors that look: CET of x86,
  # BTI and PAC of ARM.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    list(APPEND hardening_compile -fcf-protection)
  elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    list(APPEND hardening_compile -mbranch-protection=standard)
  endif()
  # A distribution may have its own level; glibc wants an optimizing compiler.
  list(APPEND hardening_compile
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
    $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)
endif()

# Debug data name source files in whole; elsewhere they would be others. Of two
# names that fit, gcc takes the last one given, and builds lie in the source's
# folder mostly.
set(no_own_folders "")
if(FEEDLINE_REPRODUCIBLE)
  foreach(map ${PROJECT_SOURCE_DIR}=. ${PROJECT_BINARY_DIR}=./build)
    list(APPEND no_own_folders -ffile-prefix-map=${map})
  endforeach()
endif()

# feedline_shipped(TARGET...): a library or program that others run, or a part
# of one. Where the build's own library lies, too, is named without the build's
# folder: an installed program has another RUNPATH, but in as many bytes.
function(feedline_shipped)
  foreach(target ${ARGN})
    set_target_properties(${target} PROPERTIES
      BUILD_RPATH_USE_ORIGIN ${FEEDLINE_REPRODUCIBLE})
    target_compile_options(${target} PRIVATE ${hardening_compile}
                           ${no_own_folders})
    target_link_options(${target} PRIVATE ${hardening_link})
  endforeach()
endfunction()
