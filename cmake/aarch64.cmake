# SPDX-License-Identifier: Apache-2.0
#
# For -DCMAKE_TOOLCHAIN_FILE: ARM64 programs made on another Debian, by its
# gcc-aarch64-linux-gnu and the arm64 packages of its libraries. scripts/arm64
# installs both, and has what is made run by QEMU.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triple aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${triple}-gcc)
find_program(cxx ${triple}-g++)
if(cxx)
  set(CMAKE_CXX_COMPILER ${cxx})
endif()
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})

# Debian has libraries of all architectures below one root, each in a folder of
# its own; programs that build are this machine's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/${triple}/pkgconfig:/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_PATH} "")
