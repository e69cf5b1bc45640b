// The loops of some workloads as a C++ programmer writes them: OpenMP over cores, vectors by the compiler.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <omp.h>
#include <vector>

extern "C" {

int threads() { return omp_get_max_threads(); }

void copy(int64_t n, const float *__restrict x, float *__restrict y) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) y[i] = x[i];
}

void saxpy(int64_t n, const float *__restrict x, float *__restrict y, float a) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

// Vectors lie as x y z x y z ...: a thread takes whole particles.
void integrate(int64_t n, float *__restrict x, float *__restrict v, const float *__restrict f,
               const float *__restrict inv_mass, const float *__restrict gravity, float dt) {
    const float g[3] = {gravity[0], gravity[1], gravity[2]};
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i)
        for (int k = 0; k < 3; ++k) {
            const float v1 = v[3 * i + k] + (f[3 * i + k] * inv_mass[i] + g[k]) * dt;
            x[3 * i + k] += v1 * dt;
            v[3 * i + k] = v1;
        }
}

void wave(int64_t side, const float *__restrict before, const float *__restrict now, float *__restrict after, float c,
          float damping) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < side; ++i) {
        float *row = after + i * side;
        if (i == 0 || i == side - 1) {
            std::memset(row, 0, side * sizeof(float));
            continue;
        }
        const float *u = now + i * side, *old = before + i * side;
        for (int64_t j = 1; j < side - 1; ++j) {
            const float around = u[j - side] + u[j + side] + u[j - 1] + u[j + 1];
            row[j] = damping * ((2.0f * u[j] - old[j]) + c * (around - 4.0f * u[j]));
        }
        row[0] = row[side - 1] = 0.0f;
    }
}

float uniform_sum(int64_t n, const float *__restrict x) {
    float total = 0.0f;
#pragma omp parallel for simd schedule(static) reduction(+ : total)
    for (int64_t i = 0; i < n; ++i) total += x[i] * x[i];
    return total;
}

static void springs_of(int64_t begin, int64_t end, const float *x, const int32_t *ends, const float *rest,
                       float stiffness, float *f) {
    for (int64_t s = begin; s < end; ++s) {
        const int64_t a = 3 * int64_t(ends[2 * s]), b = 3 * int64_t(ends[2 * s + 1]);
        const float d0 = x[b] - x[a], d1 = x[b + 1] - x[a + 1], d2 = x[b + 2] - x[a + 2];
        const float length = std::sqrt(d0 * d0 + d1 * d1 + d2 * d2);
        const float k = stiffness * (length - rest[s]) / length;
        f[a] += k * d0, f[a + 1] += k * d1, f[a + 2] += k * d2;
        f[b] -= k * d0, f[b + 1] -= k * d1, f[b + 2] -= k * d2;
    }
}

// One thread adds to the forces themselves, several to copies of their own, which are added up at the end.
void springs(int64_t n, int64_t vertices, const float *x, const int32_t *ends, const float *rest, float stiffness,
             float *f) {
    const int team = omp_get_max_threads();
    if (team == 1) return springs_of(0, n, x, ends, rest, stiffness, f);
    static std::vector<float> memory;
    memory.resize(size_t(team - 1) * vertices * 3);
    float *copies = memory.data();
#pragma omp parallel num_threads(team)
    {
        const int t = omp_get_thread_num();
        float *mine = t ? copies + (t - 1) * vertices * 3 : f;
        if (t) std::memset(mine, 0, vertices * 3 * sizeof(float));
        springs_of(n * t / team, n * (t + 1) / team, x, ends, rest, stiffness, mine);
#pragma omp barrier
#pragma omp for schedule(static)
        for (int64_t i = 0; i < vertices * 3; ++i)
            for (int k = 0; k < team - 1; ++k) f[i] += copies[k * vertices * 3 + i];
    }
}
}
