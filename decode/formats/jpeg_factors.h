/* SPDX-License-Identifier: Apache-2.0 */
/* What the transforms of all processors have in common: libjpeg's constants. */
#ifndef FDL_DECODE_JPEG_FACTORS_H
#define FDL_DECODE_JPEG_FACTORS_H

/* Bits of fractions: of constants, and between the passes. */
#define CONST_BITS 13
#define PASS1_BITS 2

/* The last place in zigzag order within the first four rows and columns. */
#define CORNER_LAST 9

/* Cosines and their sums, times 2^13. */
#define F_0_298 2446
#define F_0_390 3196
#define F_0_541 4433
#define F_0_765 6270
#define F_0_899 7373
#define F_1_175 9633
#define F_1_501 12299
#define F_1_847 15137
#define F_1_961 16069
#define F_2_053 16819
#define F_2_562 20995
#define F_3_072 25172

/* Those of smaller blocks. */
#define F_0_211 1730
#define F_0_509 4176
#define F_0_601 4926
#define F_0_720 5906
#define F_0_850 6967
#define F_1_061 8697
#define F_1_272 10426
#define F_1_451 11893
#define F_2_172 17799
#define F_3_624 29692

#endif
