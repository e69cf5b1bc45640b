/* Kernels that the tests of the simulated driver launch, in the form that its module images name. */
#include <stdint.h>

#define API __attribute__((visibility("default")))

typedef struct {
    int64_t *to, *from;
    int64_t value;
} arguments;

API int32_t test_registers[4]; /* ctaid.x, ntid.x, tid.x, nctaid.x */

#define THREADS(i, count)                                                                           \
    for (int64_t i = (int64_t)test_registers[0] * test_registers[1] + test_registers[2]; i < count; \
         i += (int64_t)test_registers[1] * test_registers[3])

API void test_add(const arguments *a, int64_t count) {
    THREADS(i, count) a->to[i] += a->value;
}

API void test_multiply(const arguments *a, int64_t count) {
    THREADS(i, count) a->to[i] *= a->value;
}

API void test_copy(const arguments *a, int64_t count) {
    THREADS(i, count) a->to[i] = a->from[i];
}

/* The order of threads: word 0 counts them, their numbers follow. */
API void test_visit(const arguments *a, int64_t count) {
    THREADS(i, count) a->to[++a->to[0]] = i;
}
