/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of an ENUM option, written once for code and for users:
 *
 *     #define FDL_HELD_CHOICES(C)    C(FDL_HELD_REFUSE, "refuse") ...
 *     enum fdl_held { FDL_CHOICE_VALUES(FDL_HELD_CHOICES) };
 *     .choices = FDL_CHOICE_TEXT(FDL_HELD_CHOICES)            "refuse|grow"
 */
#ifndef FDL_BASE_CHOICE_H
#define FDL_BASE_CHOICE_H

#define FDL_CHOICE_VALUE(value, text)  value,
#define FDL_CHOICE_BEHIND(value, text) "|" text

#define FDL_CHOICE_VALUES(list) list(FDL_CHOICE_VALUE)
#define FDL_CHOICE_TEXT(list)   (&list(FDL_CHOICE_BEHIND)[1])

#endif
