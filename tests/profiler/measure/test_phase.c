/* SPDX-License-Identifier: Apache-2.0 */
/* Phases of the consumer's own time, on a clock of the test's. */
#include "base/status.h"
#include "dice.h"
#include "profiler/measure/phase.h"
#include "test.h"

static struct fdl_phases p;
static struct fdl_open_phase closed;

static void setup(void)
{
    memset(&p, 0, sizeof(p));
}

static void begin(const char *name, int64_t now)
{
    assert_int_equal(fdl_phase_begin(&p, name, now, now + 1000), FEEDLINE_OK);
}

static void end(int64_t now)
{
    assert_int_equal(fdl_phase_end(&p, now, &closed), FEEDLINE_OK);
}

static void check(uint32_t index, const char *name, uint64_t count,
                  int64_t total, int64_t self, int64_t most)
{
    const struct fdl_phase *phase = &p.phases[index];
    assert_true(index < p.n);
    assert_string_equal(phase->name, name);
    assert_int_equal(phase->count, count);
    assert_int_equal(phase->total_ns, total);
    assert_int_equal(phase->self_ns, self);
    assert_int_equal(phase->max_ns, most);
}

TEST_WITH(test_one, setup, NULL)
{
    begin("forward", 10);
    end(17);
    begin("forward", 20);
    end(40);
    assert_int_equal(p.n, 1);
    check(0, "forward", 2, 27, 27, 20);
    assert_int_equal(closed.begin, 20);
    assert_int_equal(closed.wall_ns, 1020);
}

TEST_WITH(test_nested, setup, NULL)
{
    begin("step", 0);
    begin("forward", 1);
    end(4);
    begin("backward", 5);
    begin("hook", 6);
    end(8);
    end(15);
    end(20);
    check(0, "step", 1, 20, 20 - 3 - 10, 20);
    check(1, "forward", 1, 3, 3, 3);
    check(2, "backward", 1, 10, 8, 10);
    check(3, "hook", 1, 2, 2, 2);
    assert_ptr_equal(fdl_phase_largest(&p), &p.phases[2]);
}

/* A checkpoint now and then, beside steps that take more in all. */
TEST_WITH(the_longest_is_not_the_largest, setup, NULL)
{
    assert_null(fdl_phase_longest(&p));
    for (int64_t i = 0; i < 4; i++) {
        begin("train", 100 * i);
        end(100 * i + 30);
    }
    begin("checkpoint", 400);
    end(500);
    assert_ptr_equal(fdl_phase_largest(&p), &p.phases[0]);
    assert_ptr_equal(fdl_phase_longest(&p), &p.phases[1]);
}

/* Its total counts once, all of its time is its own. */
TEST_WITH(test_inside_itself, setup, NULL)
{
    begin("block", 0);
    begin("block", 3);
    end(5);
    end(10);
    check(0, "block", 2, 10, 10, 10);
}

TEST_WITH(test_limits, setup, NULL)
{
    char name[64];
    assert_int_equal(fdl_phase_begin(&p, "", 0, 0), FEEDLINE_EINVAL);
    memset(name, 'x', sizeof(name));
    name[32] = '\0';
    assert_int_equal(fdl_phase_begin(&p, name, 0, 0), FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "31 bytes"));
    assert_int_equal(p.n, 0);
    name[31] = '\0';
    begin(name, 0);
    end(1);
    for (uint32_t i = 1; i < FDL_PHASES_MAX; i++) {
        snprintf(name, sizeof(name), "phase %u", i);
        begin(name, i);
        end(i);
    }
    assert_int_equal(p.n, FDL_PHASES_MAX);
    assert_int_equal(fdl_phase_begin(&p, "the 33rd", 0, 0), FEEDLINE_ERANGE);
    assert_non_null(strstr(fdl_last_error(), "the 33rd"));
    assert_int_equal(p.n_open, 0);
    for (uint32_t i = 0; i < FDL_PHASE_DEPTH; i++)
        begin("phase 1", i);
    assert_int_equal(fdl_phase_begin(&p, "phase 2", 9, 9), FEEDLINE_ERANGE);
    for (uint32_t i = 0; i < FDL_PHASE_DEPTH; i++)
        end(10);
    assert_int_equal(fdl_phase_end(&p, 11, &closed), FEEDLINE_ESTATE);
}

TEST_WITH(test_reset, setup, NULL)
{
    assert_null(fdl_phase_largest(&p));
    begin("epoch", 100);
    begin("forward", 110);
    end(150);
    fdl_phase_reset(&p);
    check(0, "epoch", 0, 0, 0, 0);
    check(1, "forward", 0, 0, 0, 0);
    assert_null(fdl_phase_largest(&p));
    end(7); /* open since before; the clock is at 7 again */
    check(0, "epoch", 1, 7, 7, 7);
}

/* ---- Random ------------------------------------------------------------- */

/* Against a count of single ns: which phase is innermost at each of them. */
TEST_WITH(test_random, setup, NULL)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    struct dice d = {test_seed()};
    for (int round = 0; round < 200; round++) {
        int64_t self[5] = {0}, now = 0, sum = 0;
        uint32_t stack[FDL_PHASE_DEPTH], n = 0;
        memset(&p, 0, sizeof(p));
        for (uint32_t i = 0; i < 5; i++) { /* in a known order */
            begin(names[i], 0);
            end(0);
        }
        for (int i = 0; i < 300; i++) {
            int64_t ns = dice_below(&d, 50);
            now += ns;
            if (n > 0)
                self[stack[n - 1]] += ns;
            if (n < FDL_PHASE_DEPTH && dice_below(&d, 2) == 0) {
                stack[n] = dice_below(&d, 5);
                begin(names[stack[n++]], now);
            } else if (n > 0) {
                n--;
                end(now);
            }
        }
        while (n-- > 0)
            end(now);
        for (uint32_t i = 0; i < 5; i++) {
            assert_int_equal(p.phases[i].self_ns, self[i]);
            assert_true(p.phases[i].self_ns <= p.phases[i].total_ns);
            assert_true(p.phases[i].max_ns <= p.phases[i].total_ns);
            assert_true(p.phases[i].total_ns <= now);
            sum += self[i];
        }
        assert_true(sum <= now);
    }
}

TEST_MAIN("phase")
