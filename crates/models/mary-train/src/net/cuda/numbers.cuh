// What all kernels of training share: types of numbers, sums over a warp, sixteen bytes at a time.
#ifndef NUMBERS
#define NUMBERS

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ void
#define INF __int_as_float(0x7f800000)

struct bf16 {
    u16 bits;
};

#ifdef EMULATED
static u32 pair(float low, float high);
#else
// Two numbers as bfloat16s in one register, the first in the low half.
DEVICE u32 pair(float low, float high) {
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
#endif

DEVICE float wide(float x) { return x; }
DEVICE float wide(bf16 x) { return __uint_as_float((u32)x.bits << 16); }
template <class T> DEVICE T narrow(float x);
template <> DEVICE float narrow<float>(float x) { return x; }
template <> DEVICE bf16 narrow<bf16>(float x) {
    bf16 y;
    y.bits = (u16)pair(x, 0.0f);
    return y;
}

// Sixteen bytes of neighbouring numbers. Memory begins at a multiple of sixteen bytes; where fewer
// numbers are left they are moved one by one.
template <class T> struct Run {
    static const int N = 16 / sizeof(T);
    float x[N];
};
DEVICE void unpack(uint4 v, Run<float> &r) {
    r.x[0] = __uint_as_float(v.x);
    r.x[1] = __uint_as_float(v.y);
    r.x[2] = __uint_as_float(v.z);
    r.x[3] = __uint_as_float(v.w);
}
DEVICE void unpack(uint4 v, Run<bf16> &r) {
    u32 words[4] = {v.x, v.y, v.z, v.w};
    for (int i = 0; i < 4; i++) {
        r.x[2 * i] = __uint_as_float(words[i] << 16);
        r.x[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
    }
}
DEVICE uint4 packed(const Run<float> &r) {
    uint4 v = {__float_as_uint(r.x[0]), __float_as_uint(r.x[1]), __float_as_uint(r.x[2]), __float_as_uint(r.x[3])};
    return v;
}
DEVICE uint4 packed(const Run<bf16> &r) {
    uint4 v = {pair(r.x[0], r.x[1]), pair(r.x[2], r.x[3]), pair(r.x[4], r.x[5]), pair(r.x[6], r.x[7])};
    return v;
}
template <class T> DEVICE Run<T> load_run(const T *from, u64 first, u64 count) {
    Run<T> r;
    if (first + Run<T>::N <= count) {
        unpack(*(const uint4 *)(from + first), r);
    } else {
        for (int i = 0; i < Run<T>::N; i++) r.x[i] = first + i < count ? wide(from[first + i]) : 0.0f;
    }
    return r;
}
template <class T> DEVICE void store_run(T *to, u64 first, u64 count, const Run<T> &r) {
    if (first + Run<T>::N <= count) {
        *(uint4 *)(to + first) = packed(r);
    } else {
        for (int i = 0; i < Run<T>::N; i++)
            if (first + i < count) to[first + i] = narrow<T>(r.x[i]);
    }
}

DEVICE float warp_sum(float x) {
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
    return x;
}
DEVICE float warp_max(float x) {
    for (int d = 16; d; d >>= 1) x = fmaxf(x, __shfl_xor_sync(~0u, x, d));
    return x;
}

#endif
