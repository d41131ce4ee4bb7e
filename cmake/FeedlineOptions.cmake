# SPDX-License-Identifier: Apache-2.0
#
# What is built, and with what. AUTO takes a dependency if it is there. Inside
# another project, by add_subdirectory or FetchContent, only the library is
# built: no tools, no tests, nothing installed, unless the project asks for it.
#
# Tests, with the simulator and the benchmarks that only developers run, are off
# by default: they are three quarters of all there is to compile.
option(BUILD_TESTING "Build the tests, the simulator and the benchmarks" OFF)
if(PROJECT_IS_TOP_LEVEL)
  include(CTest)
  set(FEEDLINE_TESTS ${BUILD_TESTING})
else()
  set(FEEDLINE_TESTS OFF)
  # The static library's own libraries are linked by whoever links it, so they
  # have to be known in the whole project.
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL TRUE)
endif()

set(FEEDLINE_URING AUTO CACHE STRING "io_uring reader: AUTO, ON or OFF")
set(FEEDLINE_WEBP AUTO CACHE STRING "WebP images: AUTO, ON or OFF")
set(FEEDLINE_NVTX AUTO CACHE STRING "Ranges for nsys: AUTO, ON or OFF")
set(FEEDLINE_STATIC_DEPENDENCIES OFF CACHE STRING
    "Link libjpeg and the like in, hidden: AUTO, ON or OFF")
option(FEEDLINE_CUDA "CUDA transfer; needs nothing to build" ON)
option(FEEDLINE_TOOLS "Build loaderbench" ${PROJECT_IS_TOP_LEVEL})
option(FEEDLINE_EXAMPLES "Build the examples, as BUILD_TESTING does" OFF)
option(FEEDLINE_BENCH "Build the tuner's simulator and the benchmarks, likewise"
       OFF)
option(FEEDLINE_INSTALL "Install the library" ${PROJECT_IS_TOP_LEVEL})
option(FEEDLINE_WERROR "Warnings are errors" OFF)
set(FEEDLINE_SANITIZE "" CACHE STRING
    "Sanitizers: empty, 'address,undefined' or 'thread'")
option(FEEDLINE_COVERAGE "Count which branches of the library are taken: clang"
       OFF)
option(FEEDLINE_FUZZ "Build the fuzzers too: clang, with sanitizers" OFF)
set(FEEDLINE_FUZZ_ENGINE "" CACHE STRING
    "What fuzzers are linked with; the compiler's flags are then all given.\
 Empty: clang's libFuzzer")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND
   NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# Assertions stay in a default build; a packager's Release drops them.
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELWITHDEBINFO
       "${CMAKE_C_FLAGS_RELWITHDEBINFO}")

# The order of locks is checked where tests look for such faults (base/lock.h).
option(FEEDLINE_LOCK_ORDER "Check it, as sanitizers and Debug do" OFF)
if(FEEDLINE_LOCK_ORDER OR FEEDLINE_SANITIZE OR
   CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(FDL_LOCK_ORDER)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)

# Archives are found by their ending, and AUTO takes a shared library where
# there is none. Whoever changes this begins with an empty build folder.
if(FEEDLINE_STATIC_DEPENDENCIES STREQUAL "AUTO")
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
elseif(FEEDLINE_STATIC_DEPENDENCIES)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()

find_package(Threads REQUIRED)
include(FeedlineNeeds)
find_package(JPEG) # libjpeg-turbo: the API of 2.1.5 and later
feedline_needs(JPEG libjpeg62-turbo-dev)
find_package(PNG)
feedline_needs(PNG libpng-dev)

# libjpeg's interface between its own modules, which our Huffman decoder plugs
# into (decode/formats/jpeg_entropy.h). Debian 12 installs it; without it
# libjpeg's stays. Version 3 has other structs, so the file of another version,
# which the compiler may find elsewhere, is as good as none.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES JPEG::JPEG)
check_c_source_compiles("
  #include <stdio.h>
  #include <jpeglib.h>
  #include <jpegint.h>
  static boolean decode(j_decompress_ptr c, JBLOCKROW *mcu)
  {
    return mcu && c->master->first_iMCU_col <= c->master->last_iMCU_col;
  }
  int main(void)
  {
    struct jpeg_entropy_decoder e = {.decode_mcu = decode};
    e.insufficient_data = LIBJPEG_TURBO_VERSION_NUMBER < 2000000;
  #if LIBJPEG_TURBO_VERSION_NUMBER >= 3000000
    e.insufficient_data |= ((struct jpeg_decomp_master *)0)->lossless;
  #endif
    return e.insufficient_data;
  }" FEEDLINE_HAVE_JPEGINT)
unset(CMAKE_REQUIRED_LIBRARIES)

find_package(PkgConfig)
feedline_needs(PkgConfig pkg-config)
pkg_check_modules(XXHASH libxxhash) # header only: fingerprints
feedline_needs(XXHASH libxxhash-dev)

set(FEEDLINE_HAVE_URING OFF)
if(FEEDLINE_URING)
  if(FEEDLINE_URING STREQUAL "AUTO")
    pkg_check_modules(URING IMPORTED_TARGET GLOBAL liburing>=2.3)
  else()
    pkg_check_modules(URING IMPORTED_TARGET GLOBAL liburing>=2.3)
    feedline_needs(URING liburing-dev)
  endif()
  set(FEEDLINE_HAVE_URING ${URING_FOUND})
endif()

set(FEEDLINE_HAVE_WEBP OFF)
if(FEEDLINE_WEBP)
  if(FEEDLINE_WEBP STREQUAL "AUTO")
    pkg_check_modules(WEBP IMPORTED_TARGET GLOBAL libwebpdemux>=1.2
                      libwebp>=1.2)
  else()
    pkg_check_modules(WEBP IMPORTED_TARGET GLOBAL libwebpdemux>=1.2
                      libwebp>=1.2)
    feedline_needs(WEBP libwebp-dev)
  endif()
  set(FEEDLINE_HAVE_WEBP ${WEBP_FOUND})
endif()

# NVTX is a header, of the CUDA toolkit or of the Python package nvidia-nvtx;
# for the latter FEEDLINE_NVTX_INCLUDE names its folder.
set(FEEDLINE_HAVE_NVTX OFF)
if(FEEDLINE_NVTX)
  find_path(FEEDLINE_NVTX_INCLUDE nvtx3/nvToolsExtPayload.h
            PATHS /usr/local/cuda/include)
  if(FEEDLINE_NVTX_INCLUDE)
    set(FEEDLINE_HAVE_NVTX ON)
  elseif(NOT FEEDLINE_NVTX STREQUAL "AUTO")
    message(FATAL_ERROR "no nvtx3/nvToolsExtPayload.h: set "
                        "FEEDLINE_NVTX_INCLUDE, or FEEDLINE_NVTX to OFF")
  endif()
endif()

# feedline_features(): the bits of FEEDLINE_FEATURE_*.
set(features 0)
if(FEEDLINE_HAVE_URING)
  math(EXPR features "${features} | 1")
endif()
if(FEEDLINE_CUDA)
  math(EXPR features "${features} | 2")
endif()
if(FEEDLINE_HAVE_WEBP)
  math(EXPR features "${features} | 4")
endif()
if(FEEDLINE_HAVE_JPEGINT)
  math(EXPR features "${features} | 8")
endif()

add_library(feedline_flags INTERFACE)
target_compile_definitions(feedline_flags INTERFACE
  _GNU_SOURCE FDL_FEATURES=${features}u)
target_compile_options(feedline_flags INTERFACE
  -Wall -Wextra -Wshadow -Wvla -Wundef -Wstrict-prototypes
  -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wconversion
  -fno-omit-frame-pointer
  $<$<BOOL:${FEEDLINE_WERROR}>:-Werror>)
target_include_directories(feedline_flags INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
if(FEEDLINE_FUZZ AND NOT FEEDLINE_FUZZ_ENGINE)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "FEEDLINE_FUZZ needs clang: "
                        "-DCMAKE_C_COMPILER=clang-14")
  endif()
  if(NOT FEEDLINE_SANITIZE)
    set(FEEDLINE_SANITIZE address,undefined)
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link) # what libFuzzer watches
endif()
if(FEEDLINE_SANITIZE)
  add_compile_options(-fsanitize=${FEEDLINE_SANITIZE}
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FEEDLINE_SANITIZE})
endif()
if(FEEDLINE_SANITIZE STREQUAL "thread") # also where it looks at nothing else
  add_compile_definitions(FDL_TSAN)
endif()
if(FEEDLINE_COVERAGE) # scripts/coverage; files of counts in profiles/
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "FEEDLINE_COVERAGE needs clang: "
                        "-DCMAKE_C_COMPILER=clang-14")
  endif()
  set(profiles
      -fprofile-instr-generate=${PROJECT_BINARY_DIR}/profiles/%2m.profraw)
  add_link_options($<$<LINK_LANGUAGE:C>:${profiles}>)
endif()
