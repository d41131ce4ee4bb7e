# SPDX-License-Identifier: Apache-2.0
#
# What is in the library and the program, as a bill of materials in CycloneDX's
# JSON: what was linked or compiled in, with the hash of the file that it came
# from, what is linked or loaded when they run, and, excluded, what built them.
# Versions are those of this machine, and of the Debian package that has the
# file, where there is dpkg. No date and no folder is in it, so that the same
# machine makes the same bytes.
set(sbom_components "")
set(sbom_refs "")
find_program(DPKG_QUERY dpkg-query)

# What the compiler makes of a macro of a header.
function(sbom_macro out folders header macro)
  list(TRANSFORM folders PREPEND -I)
  file(WRITE ${PROJECT_BINARY_DIR}/sbom_macro.c
       "#include <stdio.h>\n#include <${header}>\nVERSION ${macro}\n")
  execute_process(
    COMMAND ${CMAKE_C_COMPILER} -E -P ${folders}
            ${PROJECT_BINARY_DIR}/sbom_macro.c
    OUTPUT_VARIABLE text ERROR_QUIET)
  set(found "")
  if(text MATCHES "VERSION ([^\n]+)")
    string(REGEX REPLACE "[\" ]" "" found "${CMAKE_MATCH_1}")
  endif()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# The Debian package of a file as a package URL; empty: it is of none.
function(sbom_package out file)
  set(${out} "" PARENT_SCOPE)
  if(NOT DPKG_QUERY OR NOT EXISTS "${file}")
    return()
  endif()
  file(REAL_PATH "${file}" real)
  foreach(path ${file} ${real})
    execute_process(COMMAND ${DPKG_QUERY} -S ${path} ERROR_QUIET
      OUTPUT_VARIABLE found RESULT_VARIABLE failed)
    if(failed)
      continue()
    endif()
    string(REGEX REPLACE "(:[a-z0-9]+)?[,:] .*" "" name "${found}")
    execute_process(OUTPUT_VARIABLE version
      COMMAND ${DPKG_QUERY} -W -f "\${Version}?arch=\${Architecture}\n" ${name})
    string(REGEX REPLACE "\n.*" "" version "${version}")
    string(REPLACE ":" "%3A" version "${version}")
    string(REPLACE "+" "%2B" name "${name}")
    string(REPLACE "+" "%2B" version "${version}")
    set(${out} "pkg:deb/debian/${name}@${version}" PARENT_SCOPE)
    return()
  endforeach()
endfunction()

# sbom_add(NAME [VERSION v] [LICENCE expression] [FILE path] USE how [BY what]):
# one component. How: linked (static or shared, as the file's name says),
# compiled (a header), loaded (if it is asked for), or built, which is a tool.
function(sbom_add name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "VERSION;LICENCE;FILE;USE;BY" "")
  set(type library)
  set(scope required)
  if(arg_USE STREQUAL "built")
    set(type application)
    set(scope excluded)
  elseif(arg_USE STREQUAL "loaded")
    set(scope optional)
  elseif(arg_USE STREQUAL "linked")
    set(arg_USE shared)
    if(arg_FILE MATCHES "\\.a$")
      set(arg_USE static)
    endif()
  endif()
  set(lines "\"type\": \"${type}\"" "\"bom-ref\": \"${name}\""
            "\"name\": \"${name}\"")
  if(arg_VERSION)
    list(APPEND lines "\"version\": \"${arg_VERSION}\"")
  endif()
  list(APPEND lines "\"scope\": \"${scope}\"")
  if(arg_USE MATCHES "static|compiled" AND EXISTS "${arg_FILE}")
    file(SHA256 ${arg_FILE} hash)
    list(APPEND lines
      "\"hashes\": [{\"alg\": \"SHA-256\", \"content\": \"${hash}\"}]")
  endif()
  if(arg_LICENCE)
    list(APPEND lines
      "\"licenses\": [{\"expression\": \"${arg_LICENCE}\"}]")
  endif()
  sbom_package(package "${arg_FILE}")
  if(package)
    list(APPEND lines "\"purl\": \"${package}\"")
  endif()
  set(properties "{\"name\": \"feedline:use\", \"value\": \"${arg_USE}\"}")
  if(arg_BY)
    string(APPEND properties
      ", {\"name\": \"feedline:by\", \"value\": \"${arg_BY}\"}")
  endif()
  list(APPEND lines "\"properties\": [${properties}]")
  list(JOIN lines ",\n      " lines)
  list(APPEND sbom_components "    {\n      ${lines}\n    }")
  set(sbom_components "${sbom_components}" PARENT_SCOPE)
  if(NOT scope STREQUAL "excluded")
    list(APPEND sbom_refs "\"${name}\"")
    set(sbom_refs "${sbom_refs}" PARENT_SCOPE)
  endif()
endfunction()

# ---- What is linked, compiled in or loaded -----------------------------------

sbom_macro(version "${JPEG_INCLUDE_DIRS}" jpeglib.h LIBJPEG_TURBO_VERSION)
list(GET JPEG_LIBRARIES 0 file)
sbom_add(libjpeg-turbo VERSION "${version}" FILE "${file}" USE linked
  LICENCE "IJG AND BSD-3-Clause AND Zlib")
sbom_macro(version "${PNG_INCLUDE_DIRS}" png.h PNG_LIBPNG_VER_STRING)
list(GET PNG_LIBRARIES 0 file)
sbom_add(libpng VERSION "${version}" FILE "${file}" USE linked
  LICENCE "libpng-2.0")
sbom_macro(version "${ZLIB_INCLUDE_DIRS}" zlib.h ZLIB_VERSION)
list(GET ZLIB_LIBRARIES 0 file)
sbom_add(zlib VERSION "${version}" FILE "${file}" USE linked LICENCE "Zlib")
if(FEEDLINE_HAVE_WEBP)
  foreach(library webpdemux webp)
    set(file ${WEBP_LINK_LIBRARIES})
    list(FILTER file INCLUDE REGEX "lib${library}\\.")
    sbom_add(lib${library} VERSION "${WEBP_libwebp_VERSION}" FILE "${file}"
      USE linked LICENCE "BSD-3-Clause")
  endforeach()
endif()
if(FEEDLINE_HAVE_URING)
  list(GET URING_LINK_LIBRARIES 0 file)
  sbom_add(liburing VERSION "${URING_VERSION}" FILE "${file}" USE linked
    LICENCE "MIT OR LGPL-2.1-only")
endif()
sbom_add(xxHash VERSION "${XXHASH_VERSION}" USE compiled
  FILE "${XXHASH_INCLUDEDIR}/xxhash.h" LICENCE "BSD-2-Clause")
if(FEEDLINE_HAVE_NVTX)
  sbom_add(NVTX USE compiled LICENCE "Apache-2.0 WITH LLVM-exception"
    FILE "${FEEDLINE_NVTX_INCLUDE}/nvtx3/nvToolsExtPayload.h")
endif()
if(FEEDLINE_TOOLS)
  pkg_check_modules(JANSSON IMPORTED_TARGET jansson)
  list(GET JANSSON_LINK_LIBRARIES 0 file)
  sbom_add(jansson VERSION "${JANSSON_VERSION}" FILE "${file}" USE linked
    BY loaderbench LICENCE "MIT")
endif()
sbom_macro(version "" features.h "__GLIBC__.__GLIBC_MINOR__")
string(REPLACE " " "" version "${version}")
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libc.so
  OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE)
sbom_add(glibc VERSION "${version}" FILE "${file}" USE linked
  LICENCE "LGPL-2.1-or-later")
sbom_add(libcurl USE loaded LICENCE "curl")
if(FEEDLINE_CUDA)
  sbom_add(libcuda USE loaded)
endif()

# ---- What built it -----------------------------------------------------------

string(TOLOWER ${CMAKE_C_COMPILER_ID} compiler)
string(REPLACE gnu gcc compiler ${compiler})
sbom_add(${compiler} VERSION "${CMAKE_C_COMPILER_VERSION}" USE built
  FILE "${CMAKE_C_COMPILER}")
sbom_add(linker USE built FILE "${CMAKE_LINKER}")
sbom_add(cmake VERSION "${CMAKE_VERSION}" USE built FILE "${CMAKE_COMMAND}")
sbom_add(pkg-config VERSION "${PKG_CONFIG_VERSION_STRING}" USE built
  FILE "${PKG_CONFIG_EXECUTABLE}")
if(SCDOC)
  sbom_add(scdoc USE built FILE "${SCDOC}")
endif()

list(JOIN sbom_components ",\n" sbom_components)
list(JOIN sbom_refs ", " sbom_refs)
string(UUID sbom_serial NAMESPACE 6ba7b811-9dad-11d1-80b4-00c04fd430c8
  NAME "feedline ${PROJECT_VERSION} ${sbom_components}" TYPE SHA1)
configure_file(cmake/feedline.cdx.json.in feedline.cdx.json @ONLY)
