# SPDX-License-Identifier: Apache-2.0
#
# What goes into a Python wheel: the library beside the package's own files, and
# the tool as a program of its own. Wheels know no symbolic links, so the
# library has one name without a number; the package looks at its version.
set_property(TARGET feedline PROPERTY VERSION)
set_property(TARGET feedline PROPERTY SOVERSION)
install(TARGETS feedline COMPONENT python LIBRARY DESTINATION feedline/lib)
install(TARGETS feedline_decode_program COMPONENT python
        RUNTIME DESTINATION feedline/lib)
if(FEEDLINE_TOOLS)
  install(TARGETS loaderbench COMPONENT python
          RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
  install(TARGETS feedline_decode_program COMPONENT python # for that one
          RUNTIME DESTINATION ${SKBUILD_DATA_DIR}/libexec/feedline)
endif()
# pip puts these into the environment, where man looks by PATH.
foreach(made ${manual_made})
  string(REGEX REPLACE ".*\\." "" section ${made})
  install(FILES ${made} COMPONENT python
          DESTINATION ${SKBUILD_DATA_DIR}/share/man/man${section})
endforeach()

# As PEP 770 places it.
install(FILES ${PROJECT_BINARY_DIR}/feedline.cdx.json COMPONENT python
        DESTINATION ${SKBUILD_METADATA_DIR}/sboms)

# Who hands on what is linked in hands on its licence too. Debian keeps it with
# the package that has the archive.
if(FEEDLINE_STATIC_DEPENDENCIES)
  foreach(package libjpeg62-turbo-dev libpng-dev zlib1g-dev libwebp-dev
                  liburing-dev libjansson-dev libxxhash-dev)
    install(FILES /usr/share/doc/${package}/copyright COMPONENT python OPTIONAL
            DESTINATION ${SKBUILD_METADATA_DIR}/licenses
            RENAME ${package}.txt)
  endforeach()
endif()
