// SPDX-License-Identifier: Apache-2.0
// A program in another language, which knows the installed header only.
#include <feedline/feedline.h>

#include <cstdio>
#include <cstring>

int main()
{
    char expected[32];
    std::snprintf(expected, sizeof(expected), "%d.%d.%d",
                  FEEDLINE_VERSION_MAJOR, FEEDLINE_VERSION_MINOR,
                  FEEDLINE_VERSION_PATCH);
    std::printf("feedline %s, header %s\n", feedline_version(), expected);
    return std::strcmp(feedline_version(), expected) != 0;
}
