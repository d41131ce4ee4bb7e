/* SPDX-License-Identifier: Apache-2.0 */
/* The public header by itself: nothing before it, nothing after it. */
#include <feedline/feedline.h>
