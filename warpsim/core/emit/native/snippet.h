// What native text can use: small vectors, matrices and rotations, arrays as kernels see them, and
// atomics with CUDA's names. The layouts are those of the kernels' memory: vectors and matrices are
// their components row by row, an array is its descriptor. Nothing here checks an index.

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#define WP_CUDA 1
#define WP_FN __device__ inline
#else
#define WP_FN inline
#endif

#if defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <exception>
#endif

namespace wp {

// ----- half precision: stored in 16 bits, computed in single precision ------------------------

template <class To, class From> WP_FN To same_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "equal sizes");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

// Rounds to nearest, ties to even: the dropped bits decide, and a carry moves into the exponent by itself.
WP_FN uint16_t half_bits(float x) {
    uint32_t word = same_bits<uint32_t>(x), size = word & 0x7fffffffu;
    uint16_t sign = uint16_t((word >> 16) & 0x8000u);
    if (size > 0x7f800000u) return uint16_t(sign | 0x7e00u | ((size >> 13) & 0x3ffu));
    if (size >= 0x47800000u) return uint16_t(sign | 0x7c00u);
    uint32_t kept, dropped, midway;
    if (size >= 0x38800000u) {
        kept = (size - 0x38000000u) >> 13, dropped = size & 0x1fffu, midway = 0x1000u;
    } else {
        uint32_t shift = 126u - (size >> 23), digits = (size & 0x7fffffu) | 0x800000u;
        if (shift > 24) return sign;
        kept = digits >> shift, dropped = digits & ((1u << shift) - 1u), midway = 1u << (shift - 1u);
    }
    return uint16_t(sign | (kept + (dropped > midway || (dropped == midway && (kept & 1u)))));
}

WP_FN float half_value(uint16_t bits) {
    uint32_t sign = uint32_t(bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, digits = bits & 0x3ffu;
    if (exponent == 31) return same_bits<float>(sign | 0x7f800000u | (digits << 13));
    if (exponent) return same_bits<float>(sign | ((exponent + 112u) << 23) | (digits << 13));
    float small = float(digits) * 5.9604644775390625e-8f;  // 2 to the -24
    return sign ? -small : small;
}

struct float16 {
    uint16_t bits;
    float16() = default;
    template <class T> WP_FN float16(T x) : bits(half_bits(float(x))) {}
    WP_FN operator float() const { return half_value(bits); }
    template <class T> WP_FN float16 &operator+=(T x) { return *this = float16(float(*this) + float(x)); }
    template <class T> WP_FN float16 &operator-=(T x) { return *this = float16(float(*this) - float(x)); }
    template <class T> WP_FN float16 &operator*=(T x) { return *this = float16(float(*this) * float(x)); }
    template <class T> WP_FN float16 &operator/=(T x) { return *this = float16(float(*this) / float(x)); }
};

// ----- components: c[i], and x, y, z, w where there are so few --------------------------------

template <int N, class T> struct components {
    T c[N] = {};
};
template <class T> struct components<2, T> {
    union {
        T c[2] = {};
        struct {
            T x, y;
        };
    };
};
template <class T> struct components<3, T> {
    union {
        T c[3] = {};
        struct {
            T x, y, z;
        };
    };
};
template <class T> struct components<4, T> {
    union {
        T c[4] = {};
        struct {
            T x, y, z, w;
        };
    };
};

template <int N, class T> struct vec_t : components<N, T> {
    WP_FN vec_t() {}
    template <class S> WP_FN explicit vec_t(S all) {
        for (int i = 0; i < N; ++i) this->c[i] = T(all);
    }
    template <class A, class B, class... Rest> WP_FN vec_t(A a, B b, Rest... rest) {
        static_assert(sizeof...(Rest) + 2 == N, "as many numbers as the vector has components");
        T given[] = {T(a), T(b), T(rest)...};
        for (int i = 0; i < N; ++i) this->c[i] = given[i];
    }
    WP_FN T &operator[](int i) { return this->c[i]; }
    WP_FN const T &operator[](int i) const { return this->c[i]; }
};

template <class T> struct quat_t : components<4, T> {  // (x, y, z, w); w is the real part
    WP_FN quat_t() {}
    WP_FN quat_t(T x, T y, T z, T w) { this->c[0] = x, this->c[1] = y, this->c[2] = z, this->c[3] = w; }
    WP_FN T &operator[](int i) { return this->c[i]; }
    WP_FN const T &operator[](int i) const { return this->c[i]; }
};

template <int R, int C, class T> struct mat_t {
    T c[R * C] = {};
    WP_FN mat_t() {}
    template <class A, class... Rest> WP_FN explicit mat_t(A a, Rest... rest) {
        static_assert(sizeof...(Rest) + 1 == R * C, "as many numbers as the matrix has components, row by row");
        T given[] = {T(a), T(rest)...};
        for (int i = 0; i < R * C; ++i) c[i] = given[i];
    }
    WP_FN T &operator()(int i, int j) { return c[i * C + j]; }
    WP_FN const T &operator()(int i, int j) const { return c[i * C + j]; }
    WP_FN T *operator[](int i) { return c + i * C; }
    WP_FN const T *operator[](int i) const { return c + i * C; }
};

template <class T> struct transform_t {  // rotate by q, then move by p
    vec_t<3, T> p;
    quat_t<T> q;
    WP_FN transform_t() {}
    WP_FN transform_t(const vec_t<3, T> &p, const quat_t<T> &q) : p(p), q(q) {}
    WP_FN T &operator[](int i) { return i < 3 ? p[i] : q[i - 3]; }
    WP_FN const T &operator[](int i) const { return i < 3 ? p[i] : q[i - 3]; }
};

// ----- arithmetic, the same for vectors, quaternions and matrices -----------------------------

template <class V> struct parts_of {};  // how many components of which type; nothing for other types
template <int N, class T> struct parts_of<vec_t<N, T>> {
    typedef T type;
    enum { count = N };
};
template <class T> struct parts_of<quat_t<T>> {
    typedef T type;
    enum { count = 4 };
};
template <int R, int C, class T> struct parts_of<mat_t<R, C, T>> {
    typedef T type;
    enum { count = R * C };
};
template <class V> using part = typename parts_of<V>::type;

template <class V, class T = part<V>> WP_FN V &operator+=(V &a, const V &b) {
    for (int i = 0; i < parts_of<V>::count; ++i) a.c[i] += b.c[i];
    return a;
}
template <class V, class T = part<V>> WP_FN V &operator-=(V &a, const V &b) {
    for (int i = 0; i < parts_of<V>::count; ++i) a.c[i] -= b.c[i];
    return a;
}
template <class V> WP_FN V &operator*=(V &a, part<V> s) {
    for (int i = 0; i < parts_of<V>::count; ++i) a.c[i] *= s;
    return a;
}
template <class V> WP_FN V &operator/=(V &a, part<V> s) {
    for (int i = 0; i < parts_of<V>::count; ++i) a.c[i] /= s;
    return a;
}
template <class V, class T = part<V>> WP_FN V operator+(V a, const V &b) { return a += b; }
template <class V, class T = part<V>> WP_FN V operator-(V a, const V &b) { return a -= b; }
template <class V, class T = part<V>> WP_FN V operator-(V a) {
    for (int i = 0; i < parts_of<V>::count; ++i) a.c[i] = -a.c[i];
    return a;
}
template <class V> WP_FN V operator*(V a, part<V> s) { return a *= s; }
template <class V> WP_FN V operator*(part<V> s, V a) { return a *= s; }
template <class V> WP_FN V operator/(V a, part<V> s) { return a /= s; }
template <class V, class T = part<V>> WP_FN bool operator==(const V &a, const V &b) {
    bool equal = true;
    for (int i = 0; i < parts_of<V>::count; ++i) equal = equal && a.c[i] == b.c[i];
    return equal;
}
template <class V, class T = part<V>> WP_FN bool operator!=(const V &a, const V &b) { return !(a == b); }

template <class V, class T = part<V>> WP_FN T dot(const V &a, const V &b) {
    T sum = T(0);
    for (int i = 0; i < parts_of<V>::count; ++i) sum += a.c[i] * b.c[i];
    return sum;
}
WP_FN float root(float x) { return sqrtf(x); }
WP_FN double root(double x) { return sqrt(x); }
template <class V, class T = part<V>> WP_FN T length_sq(const V &a) { return dot(a, a); }
template <class V, class T = part<V>> WP_FN T length(const V &a) { return T(root(dot(a, a))); }
template <class V, class T = part<V>> WP_FN V normalize(const V &a) {
    T size = length(a);
    return size > T(0) ? a / size : V();
}

template <class T> WP_FN vec_t<3, T> cross(const vec_t<3, T> &a, const vec_t<3, T> &b) {
    return vec_t<3, T>(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]);
}
template <int R, int C, class T> WP_FN mat_t<R, C, T> outer(const vec_t<R, T> &a, const vec_t<C, T> &b) {
    mat_t<R, C, T> m;
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j) m(i, j) = a[i] * b[j];
    return m;
}
template <int R, int C, class T> WP_FN mat_t<C, R, T> transpose(const mat_t<R, C, T> &a) {
    mat_t<C, R, T> m;
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j) m(j, i) = a(i, j);
    return m;
}
template <int R, int C, class T> WP_FN vec_t<R, T> operator*(const mat_t<R, C, T> &a, const vec_t<C, T> &v) {
    vec_t<R, T> sum;
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j) sum[i] += a(i, j) * v[j];
    return sum;
}
template <int R, int K, int C, class T>
WP_FN mat_t<R, C, T> operator*(const mat_t<R, K, T> &a, const mat_t<K, C, T> &b) {
    mat_t<R, C, T> sum;
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j)
            for (int k = 0; k < K; ++k) sum(i, j) += a(i, k) * b(k, j);
    return sum;
}
template <class T> WP_FN quat_t<T> operator*(const quat_t<T> &a, const quat_t<T> &b) {
    return quat_t<T>(
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]);
}
template <class T> WP_FN quat_t<T> quat_inverse(const quat_t<T> &q) { return quat_t<T>(-q[0], -q[1], -q[2], q[3]); }
template <class T> WP_FN vec_t<3, T> quat_rotate(const quat_t<T> &q, const vec_t<3, T> &v) {
    vec_t<3, T> axis(q[0], q[1], q[2]);
    return v * (T(2) * q[3] * q[3] - T(1)) + cross(axis, v) * (T(2) * q[3]) + axis * (T(2) * dot(axis, v));
}
template <class T> WP_FN vec_t<3, T> quat_rotate_inv(const quat_t<T> &q, const vec_t<3, T> &v) {
    return quat_rotate(quat_inverse(q), v);
}
template <class T> WP_FN vec_t<3, T> transform_vector(const transform_t<T> &t, const vec_t<3, T> &v) {
    return quat_rotate(t.q, v);
}
template <class T> WP_FN vec_t<3, T> transform_point(const transform_t<T> &t, const vec_t<3, T> &v) {
    return quat_rotate(t.q, v) + t.p;
}

// ----- arrays -----------------------------------------------------------------------------------

template <class T> struct is_constant {
    enum { value = false };
};
template <class T> struct is_constant<const T> {
    enum { value = true };
};

// In adjoint text an array may have no memory: what is read there is zero, what is written is lost. Its
// `grad` is then some memory of the thread's own, see `lend`.
template <class T, class Array> WP_FN T &element(const Array &array, int64_t offset) {
#ifdef WP_REVERSE
    if (array.data == nullptr) {
        memset(array.grad, 0, sizeof(T));
        return *(T *)array.grad;
    }
#endif
    return *(T *)(array.data + offset);
}

// Some dimensions of an array from `axis` on; `axes` is its whole descriptor.
template <class T, int N, int Axis, class Array> struct rows {
    const Array &array;
    int64_t offset;
    WP_FN auto operator[](int64_t i) const -> decltype(auto) {
        int64_t moved = offset + array.step(Axis, i);
        if constexpr (Axis + 1 == N)
            return element<T>(array, moved);
        else
            return rows<T, N, Axis + 1, Array>{array, moved};
    }
};

template <class T, int N = 1> struct array_t {
    typedef T type;
    char *data, *grad;
    int64_t shape[N], strides[N];  // strides in bytes

    WP_FN int64_t step(int axis, int64_t i) const { return i * strides[axis]; }
    WP_FN decltype(auto) operator[](int64_t i) const { return rows<T, N, 0, array_t>{*this, 0}[i]; }
    template <class... I> WP_FN T &operator()(I... indices) const {
        static_assert(sizeof...(I) == N, "as many indices as the array has dimensions");
        int64_t offset = 0;
        int axis = 0;
        ((offset += step(axis++, indices)), ...);
        return element<T>(*this, offset);
    }
    WP_FN operator T *() const { return (T *)data; }
};

// Elements of another array, chosen by a table of indices per dimension that has one.
template <class T, int N = 1> struct indexedarray_t {
    typedef T type;
    char *data, *grad;
    int64_t shape[N], strides[N];
    const int32_t *tables[N];
    int64_t extents[N];  // of the array behind

    WP_FN int64_t step(int axis, int64_t i) const { return (tables[axis] ? tables[axis][i] : i) * strides[axis]; }
    WP_FN decltype(auto) operator[](int64_t i) const { return rows<T, N, 0, indexedarray_t>{*this, 0}[i]; }
    template <class... I> WP_FN T &operator()(I... indices) const {
        static_assert(sizeof...(I) == N, "as many indices as the array has dimensions");
        int64_t offset = 0;
        int axis = 0;
        ((offset += step(axis++, indices)), ...);
        return element<T>(*this, offset);
    }
};

// The array of an array's gradient.
template <class A> WP_FN A gradient_of(A array) {
    array.data = array.grad;
    return array;
}

template <class A> WP_FN void lend(A &array, char *nowhere) {
    if (array.data == nullptr) array.grad = nowhere;
}

}  // namespace wp

// ----- atomics ------------------------------------------------------------------------------------
// All return the value before. CUDA's own are chosen where it has them for the type; these are the others.

namespace wp {

template <class T> struct same_type {
    typedef T type;
};
template <class T> using plain = typename same_type<T>::type;  // takes no part in deduction

template <int Size> struct word_of {};
template <> struct word_of<1> {
    typedef uint8_t type;
};
template <> struct word_of<2> {
    typedef uint16_t type;
};
template <> struct word_of<4> {
    typedef uint32_t type;
};
template <> struct word_of<8> {
    typedef uint64_t type;
};

// swap_word: whether memory held `before` and now holds `after`; else `before` becomes what it holds.
#ifdef WP_CUDA
template <class Word> WP_FN Word load_word(Word *at) { return *(volatile Word *)at; }
template <class Word> WP_FN bool swap_word(Word *at, Word &before, Word after) {
    Word seen = ::atomicCAS(at, before, after);
    bool same = seen == before;
    before = seen;
    return same;
}
// A byte is swapped with the aligned word around it.
WP_FN bool swap_word(uint8_t *at, uint8_t &before, uint8_t after) {
    uint32_t *around = (uint32_t *)((uint64_t)at & ~uint64_t(3)), shift = 8 * uint32_t((uint64_t)at & 3);
    uint32_t seen = load_word(around);
    while (uint8_t(seen >> shift) == before) {
        if (swap_word(around, seen, (seen & ~(0xffu << shift)) | (uint32_t(after) << shift))) return true;
    }
    before = uint8_t(seen >> shift);
    return false;
}
#else
template <class Word> WP_FN Word load_word(Word *at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
template <class Word> WP_FN bool swap_word(Word *at, Word &before, Word after) {
    return __atomic_compare_exchange_n(at, &before, after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
#endif

template <class T, class F> WP_FN T updated(T *place, F combine) {
    static_assert(!is_constant<T>::value, "the array is constant here");
    typedef typename word_of<sizeof(T)>::type word;
    word *at = (word *)place, before = load_word(at);
    while (!swap_word(at, before, same_bits<word>(T(combine(same_bits<T>(before)))))) {
    }
    return same_bits<T>(before);
}

}  // namespace wp

#define WP_ATOMIC(name, expression)                                                         \
    template <class T> WP_FN T name(T *place, wp::plain<T> value) {                         \
        return wp::updated(place, [value](T old) { return T(expression); });                \
    }                                                                                       \
    template <class T, int N> WP_FN T name(const wp::array_t<T, N> &x, wp::plain<T> value) { \
        return name(&wp::element<T>(x, 0), value);                                     \
    }
WP_ATOMIC(atomicAdd, old + value)
WP_ATOMIC(atomicSub, old - value)
WP_ATOMIC(atomicMin, value < old ? value : old)
WP_ATOMIC(atomicMax, value > old ? value : old)
WP_ATOMIC(atomicExch, (void(old), value))
WP_ATOMIC(atomicAnd, old & value)
WP_ATOMIC(atomicOr, old | value)
WP_ATOMIC(atomicXor, old ^ value)
#undef WP_ATOMIC

template <class T> WP_FN T atomicCAS(T *place, wp::plain<T> expected, wp::plain<T> value) {
    static_assert(!wp::is_constant<T>::value, "the array is constant here");
    typedef typename wp::word_of<sizeof(T)>::type word;
    word before = wp::same_bits<word>(T(expected)), after = wp::same_bits<word>(T(value));
    wp::swap_word((word *)place, before, after);
    return wp::same_bits<T>(before);
}
template <class T, int N> WP_FN T atomicCAS(const wp::array_t<T, N> &x, wp::plain<T> expected, wp::plain<T> value) {
    return atomicCAS(&wp::element<T>(x, 0), expected, value);
}

#ifdef WP_CUDA
WP_FN int64_t atomicAdd(int64_t *place, int64_t value) {
    return int64_t(atomicAdd((unsigned long long *)place, (unsigned long long)value));
}
#endif

// Vectors and the like: component by component.
template <class V, class T = wp::part<V>> WP_FN V atomicAdd(V *place, const V &value) {
    V before;
    for (int i = 0; i < wp::parts_of<V>::count; ++i) before.c[i] = atomicAdd(&place->c[i], value.c[i]);
    return before;
}

namespace wp {
#if !defined(WP_CUDA)
// What an exception says, for a message. The text stays: threads may report it after this one has gone on. Libraries
// that hold the words are those from which an exception may come.
inline const char *thrown(const char *said) {
    static const char words[] = "threw an exception: %s";
    size_t size = sizeof words + strlen(said);
    char *copy = static_cast<char *>(malloc(size));
    if (copy) snprintf(copy, size, words, said);
    return copy ? copy : "threw an exception";
}
#endif

typedef vec_t<2, float> vec2;
typedef vec_t<3, float> vec3;
typedef vec_t<4, float> vec4;
typedef vec_t<2, double> vec2d;
typedef vec_t<3, double> vec3d;
typedef vec_t<4, double> vec4d;
typedef mat_t<2, 2, float> mat22;
typedef mat_t<3, 3, float> mat33;
typedef mat_t<4, 4, float> mat44;
typedef mat_t<2, 2, double> mat22d;
typedef mat_t<3, 3, double> mat33d;
typedef mat_t<4, 4, double> mat44d;
typedef quat_t<float> quat;
typedef quat_t<double> quatd;
typedef transform_t<float> transform;
typedef transform_t<double> transformd;
}  // namespace wp

using namespace wp;

// ----- blocks -------------------------------------------------------------------------------------
// WP_TILE_SYNC() waits until all threads of a block are there; a block of a processor without CUDA has one.

#ifdef WP_CUDA
#define WP_TILE_SYNC() __syncthreads()
#else
#define WP_TILE_SYNC() ((void)0)
#endif
