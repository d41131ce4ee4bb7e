/* SPDX-License-Identifier: Apache-2.0 */
/* The public headers by themselves: live.h begins with feedline.h. */
#include <feedline/live.h>
