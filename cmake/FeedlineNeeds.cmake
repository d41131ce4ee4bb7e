# SPDX-License-Identifier: Apache-2.0

# feedline_needs(NAME PACKAGE): after a search that set NAME_FOUND. Ends the
# configuration where nothing was found, with what Debian 12 calls it.
function(feedline_needs name package)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR
      "${name} was not found: on Debian 12, apt install ${package}. "
      "scripts/test installs all packages that this build needs; "
      "scripts/lib.sh lists them.")
  endif()
endfunction()
