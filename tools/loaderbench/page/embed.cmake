# SPDX-License-Identifier: Apache-2.0
#
# cmake -DOUT=template.c -DSCRIPTS=a.js;b.js -P embed.cmake: the page with its
# style and its script as an array of C. Its policy names both by their hashes:
# a browser runs no other script, wherever it comes from.

# The base64 of a SHA-256, as policies want it, of the text in the variable.
function(hash_of text out)
  set(letters
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(SHA256 hex "${${text}}")
  set(result "")
  foreach(at RANGE 0 60 6) # 3 bytes are 4 letters; the last two bytes are 3
    string(SUBSTRING "${hex}00" ${at} 6 three)
    foreach(shift 18 12 6 0)
      math(EXPR letter "(0x${three} >> ${shift}) & 63")
      string(SUBSTRING "${letters}" ${letter} 1 letter)
      string(APPEND result "${letter}")
    endforeach()
  endforeach()
  string(REGEX REPLACE ".$" "=" result "${result}")
  set(${out} "'sha256-${result}'" PARENT_SCOPE)
endfunction()

set(here ${CMAKE_CURRENT_LIST_DIR})
file(READ ${here}/page.html page)
file(READ ${here}/style.css style)
set(script "")
foreach(name ${SCRIPTS})
  file(READ ${here}/script/${name} part)
  string(APPEND script "${part}")
endforeach()
hash_of(style style_hash)
hash_of(script script_hash)
string(CONCAT policy "default-src 'none'; img-src data:; "
       "style-src ${style_hash}; script-src ${script_hash}")
foreach(name policy style script)
  string(REPLACE "@${name}@" "${${name}}" page "${page}")
endforeach()

string(HEX "${page}" hex)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REPEAT "0x..," 16 line)
string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "#include \"tools/loaderbench/page/html_page.h\"\n"
     "const unsigned char page_template[] = {\n${bytes}0x00};\n")
