// The kernels of the CUDA backend. `tools/compile_cuda_kernels.py` turns this file into the PTX text
// that is embedded in the program (NVRTC from a package, no toolkit), so that nothing but the
// driver is needed where it runs. Every kernel here has a twin under `kernels/cpu`.
//
// Letters in names: s is float32, b bfloat16, h float16. Rows are packed, without padding; what
// attends to what is described by tiles and stretches of the cache, as `kernels::Segment` says.

// It is compiled in parts (BASE, ATTEND_B, ...), each loaded when it is first needed: the driver takes
// seconds for some of them. STAGES_LARGE says how many tiles are on their way at once.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

struct bf16 { u16 bits; };
struct f16 { u16 bits; };

#define DEVICE __device__ __forceinline__
#define INF __int_as_float(0x7f800000)

DEVICE float wide(float x) { return x; }
DEVICE float wide(bf16 x) { return __uint_as_float((u32)x.bits << 16); }
DEVICE float wide(f16 x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
template <class T> DEVICE T narrow(float x);
template <> DEVICE float narrow<float>(float x) { return x; }
template <> DEVICE bf16 narrow<bf16>(float x) {
    bf16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}
template <> DEVICE f16 narrow<f16>(float x) {
    f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}

// Two numbers in one register; the first in the low half.
template <class T> DEVICE u32 pair(float lo, float hi);
template <> DEVICE u32 pair<bf16>(float lo, float hi) {
    u32 y;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(hi), "f"(lo));
    return y;
}
template <> DEVICE u32 pair<f16>(float lo, float hi) {
    u32 y;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(hi), "f"(lo));
    return y;
}

// Four neighbouring numbers, moved together.
struct four { float x[4]; };
DEVICE four load4(const float *p) {
    float4 v = *(const float4 *)p;
    four r = {{v.x, v.y, v.z, v.w}};
    return r;
}
template <class T> DEVICE four load4(const T *p) {
    uint2 v = *(const uint2 *)p;
    T a, b, c, d;
    a.bits = (u16)v.x; b.bits = (u16)(v.x >> 16); c.bits = (u16)v.y; d.bits = (u16)(v.y >> 16);
    four r = {{wide(a), wide(b), wide(c), wide(d)}};
    return r;
}
DEVICE void store4(float *p, four v) { *(float4 *)p = make_float4(v.x[0], v.x[1], v.x[2], v.x[3]); }
template <class T> DEVICE void store4(T *p, four v) {
    *(uint2 *)p = make_uint2(pair<T>(v.x[0], v.x[1]), pair<T>(v.x[2], v.x[3]));
}

DEVICE float warp_sum(float x) {
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
    return x;
}
DEVICE float warp_max(float x) {
    for (int d = 16; d; d >>= 1) x = fmaxf(x, __shfl_xor_sync(~0u, x, d));
    return x;
}
// The sum over a block of 128 threads, known to all of them.
DEVICE float block_sum(float x, float *room) {
    x = warp_sum(x);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) room[threadIdx.x >> 5] = x;
    __syncthreads();
    return room[0] + room[1] + room[2] + room[3];
}

// ---------------------------------------------------------------- vectors of tokens and positions

template <class T>
DEVICE void embed(const T *table, const int *tokens, int width, float scale, float *out) {
    const T *x = table + (u64)tokens[blockIdx.x] * width;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[(u64)blockIdx.x * width + i] = wide(x[i]) * scale;
}
// Learned positions on top of rows that are there already.
template <class T, class O>
DEVICE void add_positions(const T *table, const int *places, int width, int offset, O *out) {
    const T *x = table + (u64)(places[blockIdx.x] + offset) * width;
    out += (u64)blockIdx.x * width;
    for (int i = threadIdx.x; i < width; i += blockDim.x) out[i] = narrow<O>(wide(out[i]) + wide(x[i]));
}
#define EMBED(T, N)                                                                              \
    extern "C" __global__ void embed_##N(const T *table, const int *tokens, int width,           \
                                         float scale, float *out) {                              \
        embed(table, tokens, width, scale, out);                                                 \
    }
#define POSITIONS(T, O, N)                                                                       \
    extern "C" __global__ void add_positions_##N(const T *table, const int *places, int width,   \
                                                 int offset, O *out) {                           \
        add_positions(table, places, width, offset, out);                                        \
    }
#ifdef BASE
POSITIONS(float, float, ss)
POSITIONS(bf16, float, bs)
POSITIONS(bf16, bf16, bb)
POSITIONS(f16, float, hs)
POSITIONS(f16, f16, hh)
#endif
#ifdef BASE
EMBED(float, s)
EMBED(bf16, b)
EMBED(f16, h)
#endif

// ------------------------------------------------------------------------------------------ norms

template <class I, class O>
DEVICE void norm(const I *x, const float *weight, const float *bias, int width, int rms, float eps,
                 O *out) {
    __shared__ float room[4];
    u64 at = (u64)blockIdx.x * width;
    x += at;
    out += at;
    bool by4 = (width & 3) == 0;
    float mean = 0.f;
    if (!rms) {
        float sum = 0.f;
        if (by4) {
            for (int i = threadIdx.x * 4; i < width; i += 512) {
                four v = load4(x + i);
                sum += (v.x[0] + v.x[1]) + (v.x[2] + v.x[3]);
            }
        } else {
            for (int i = threadIdx.x; i < width; i += 128) sum += wide(x[i]);
        }
        mean = block_sum(sum, room) / width;
    }
    float squares = 0.f;
    if (by4) {
        for (int i = threadIdx.x * 4; i < width; i += 512) {
            four v = load4(x + i);
            for (int j = 0; j < 4; j++) squares += (v.x[j] - mean) * (v.x[j] - mean);
        }
    } else {
        for (int i = threadIdx.x; i < width; i += 128) {
            float v = wide(x[i]) - mean;
            squares += v * v;
        }
    }
    float scale = 1.f / sqrtf(block_sum(squares, room) / width + eps);
    if (by4) {
        for (int i = threadIdx.x * 4; i < width; i += 512) {
            four v = load4(x + i);
            float4 w = *(const float4 *)(weight + i);
            float4 b = bias ? *(const float4 *)(bias + i) : make_float4(0.f, 0.f, 0.f, 0.f);
            v.x[0] = (v.x[0] - mean) * scale * w.x + b.x;
            v.x[1] = (v.x[1] - mean) * scale * w.y + b.y;
            v.x[2] = (v.x[2] - mean) * scale * w.z + b.z;
            v.x[3] = (v.x[3] - mean) * scale * w.w + b.w;
            store4(out + i, v);
        }
    } else {
        for (int i = threadIdx.x; i < width; i += 128) {
            float y = (wide(x[i]) - mean) * scale * weight[i];
            out[i] = narrow<O>(bias ? y + bias[i] : y);
        }
    }
}
#define NORM(I, O, N)                                                                            \
    extern "C" __global__ void __launch_bounds__(128)                                            \
        norm_##N(const I *x, const float *weight, const float *bias, int width, int rms,         \
                 float eps, O *out) {                                                            \
        norm(x, weight, bias, width, rms, eps, out);                                             \
    }
#ifdef BASE
NORM(float, float, ss)
NORM(float, bf16, sb)
NORM(float, f16, sh)
NORM(bf16, bf16, bb)
NORM(f16, f16, hh)
#endif

// Normalises neighbouring spans of every row in place, each with weights of its own: the queries or the
// keys of all heads together, or of each head. A block takes a span.
template <class T>
DEVICE void norm_spans(T *x, const float *weight, const float *bias, int stride, int first, int width,
                       int rms, float eps) {
    __shared__ float room[4];
    x += (u64)blockIdx.x * stride + first + blockIdx.y * width;
    weight += blockIdx.y * width;
    if (bias) bias += blockIdx.y * width;
    float mean = 0.f;
    if (!rms) {
        float sum = 0.f;
        for (int i = threadIdx.x; i < width; i += 128) sum += wide(x[i]);
        mean = block_sum(sum, room) / width;
    }
    float squares = 0.f;
    for (int i = threadIdx.x; i < width; i += 128) {
        float v = wide(x[i]) - mean;
        squares += v * v;
    }
    float scale = 1.f / sqrtf(block_sum(squares, room) / width + eps);
    for (int i = threadIdx.x; i < width; i += 128) {
        float y = (wide(x[i]) - mean) * scale * weight[i];
        x[i] = narrow<T>(bias ? y + bias[i] : y);
    }
}
// Cuts numbers off at a limit on both sides; what is no number stays visible.
template <class T> DEVICE void clip(T *x, float limit, u64 len) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= len) return;
    float v = wide(x[i]);
    if (v > limit) x[i] = narrow<T>(limit);
    if (v < -limit) x[i] = narrow<T>(-limit);
}
// Adds rows, each times a weight, to chosen rows; none is chosen twice.
template <class I, class O>
DEVICE void add_rows(const I *x, int width, const int *rows, const float *weights, O *out) {
    x += (u64)blockIdx.x * width;
    out += (u64)rows[blockIdx.x] * width;
    float weight = weights[blockIdx.x];
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[i] = narrow<O>(wide(out[i]) + weight * wide(x[i]));
}
#define SPANS(T, N)                                                                              \
    extern "C" __global__ void __launch_bounds__(128)                                            \
        norm_spans_##N(T *x, const float *weight, const float *bias, int stride, int first,      \
                       int width, int rms, float eps) {                                          \
        norm_spans(x, weight, bias, stride, first, width, rms, eps);                             \
    }                                                                                            \
    extern "C" __global__ void clip_##N(T *x, float limit, u64 len) { clip(x, limit, len); }
#define ADD_ROWS(I, O, N)                                                                        \
    extern "C" __global__ void add_rows_##N(const I *x, int width, const int *rows,              \
                                            const float *weights, O *out) {                      \
        add_rows(x, width, rows, weights, out);                                                  \
    }
#ifdef BASE
SPANS(float, s)
SPANS(bf16, b)
SPANS(f16, h)
ADD_ROWS(float, float, ss)
ADD_ROWS(bf16, float, bs)
ADD_ROWS(f16, float, hs)
ADD_ROWS(bf16, bf16, bb)
ADD_ROWS(f16, f16, hh)
#endif

// ------------------------------------------------------------------ sums, casts, rows, activations

template <class I, class O> DEVICE void add(O *x, const I *y, u64 len) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < len) x[i] = narrow<O>(wide(x[i]) + wide(y[i]));
}
template <class I, class O> DEVICE void cast(const I *x, O *y, u64 len) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < len) y[i] = narrow<O>(wide(x[i]));
}
#define PAIRWISE(I, O, N)                                                                        \
    extern "C" __global__ void add_##N(O *x, const I *y, u64 len) { add(x, y, len); }            \
    extern "C" __global__ void cast_##N(const I *x, O *y, u64 len) { cast(x, y, len); }
#ifdef BASE
PAIRWISE(float, float, ss)
PAIRWISE(float, bf16, sb)
PAIRWISE(float, f16, sh)
PAIRWISE(bf16, float, bs)
PAIRWISE(f16, float, hs)
PAIRWISE(bf16, bf16, bb)
PAIRWISE(f16, f16, hh)
#endif

#ifdef BASE
// A float32 as the sum of three bfloat16s, side by side in a row of three times the width: products
// of these on the matrix units are as exact as a float32 product.
extern "C" __global__ void split(const float *x, bf16 *y, int width, u64 len) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= len) return;
    u64 row = i / width;
    bf16 *to = y + row * 3 * width + (i - row * width);
    float v = x[i];
    bf16 hi = narrow<bf16>(v);
    float rest = v - wide(hi);
    bf16 mid = narrow<bf16>(rest);
    // A value without bounds stays visible: its remainder would be no number.
    bool finite = (__float_as_uint(v) & 0x7f800000u) != 0x7f800000u;
    to[0] = hi;
    to[width] = finite ? mid : narrow<bf16>(0.f);
    to[2 * width] = finite ? narrow<bf16>(rest - wide(mid)) : narrow<bf16>(0.f);
}

extern "C" __global__ void gather(const u8 *x, int bytes, const int *rows, u8 *out) {
    const u8 *from = x + (u64)rows[blockIdx.x] * bytes;
    u8 *to = out + (u64)blockIdx.x * bytes;
    if ((bytes & 15) == 0) {
        for (int i = threadIdx.x * 16; i < bytes; i += blockDim.x * 16)
            *(uint4 *)(to + i) = *(const uint4 *)(from + i);
    } else {
        for (int i = threadIdx.x * 2; i < bytes; i += blockDim.x * 2)
            *(u16 *)(to + i) = *(const u16 *)(from + i);
    }
}

// One row of one layer's cache onto another; a block takes a stripe of the width, and moves follow
// one another as listed.
extern "C" __global__ void move_rows(u8 *cache, u64 plane, int bytes, const int *moves, int count) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
    if (i >= bytes) return;
    u8 *base = cache + blockIdx.y * plane;
    for (int m = 0; m < count; m++) {
        u16 v = *(u16 *)(base + (u64)moves[2 * m] * bytes + i);
        *(u16 *)(base + (u64)moves[2 * m + 1] * bytes + i) = v;
    }
}

#endif // BASE

// erf to 1.5e-7 (Abramowitz and Stegun 7.1.26), for results that are rounded to 16 bits anyway.
DEVICE float short_erf(float x) {
    float a = fabsf(x), t = __fdividef(1.f, 1.f + 0.3275911f * a);
    float p = t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
    return copysignf(1.f - p * __expf(-a * a), x);
}
template <bool SHORT> DEVICE float act(float v, int kind) {
    switch (kind) {
    case 0:
        if (SHORT) return 0.5f * v * (1.f + short_erf(v * 0.70710678118654752f));
        return 0.5f * v * (1.f + erff(v * 0.70710678118654752f));
    case 1: {
        float inner = 1.5957691216057308f * (v + 0.044715f * v * v * v);
        return v * (1.f - 1.f / (__expf(inner) + 1.f));
    }
    case 2: return v / (1.f + __expf(-1.702f * v));
    case 3: return v / (1.f + __expf(-v));
    default: return v < 0.f ? 0.f : v;
    }
}
template <class T> DEVICE void activate(const T *x, T *out, int width, int gated, int kind, u64 len) {
    constexpr bool SHORT = sizeof(T) == 2;
    u64 first = ((u64)blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (first >= len) return;
    u64 row = first / width;
    u64 at = gated ? row * 2 * width + (first - row * width) : first;
    if ((width & 7) == 0) {
        four v[2] = {load4(x + at), load4(x + at + 4)};
        if (gated) {
            four up[2] = {load4(x + at + width), load4(x + at + width + 4)};
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++) v[i].x[j] = act<SHORT>(v[i].x[j], kind) * up[i].x[j];
        } else {
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++) v[i].x[j] = act<SHORT>(v[i].x[j], kind);
        }
        store4(out + first, v[0]);
        store4(out + first + 4, v[1]);
        return;
    }
    for (u64 i = first; i < first + 8 && i < len; i++) {
        row = i / width;
        at = gated ? row * 2 * width + (i - row * width) : i;
        float y = act<SHORT>(wide(x[at]), kind);
        out[i] = narrow<T>(gated ? y * wide(x[at + width]) : y);
    }
}
#define ACTIVATE(T, N)                                                                           \
    extern "C" __global__ void activate_##N(const T *x, T *out, int width, int gated, int kind,  \
                                            u64 len) {                                           \
        activate(x, out, width, gated, kind, len);                                               \
    }
#ifdef BASE
ACTIVATE(float, s)
ACTIVATE(bf16, b)
ACTIVATE(f16, h)
#endif

// The mean of some rows, for each group of rows.
template <class T>
DEVICE void pool(const T *x, int width, const int *starts, const int *rows, float *out) {
    int i = blockIdx.y * blockDim.x + threadIdx.x;
    if (i >= width) return;
    int from = starts[blockIdx.x], to = starts[blockIdx.x + 1];
    double sum = 0.0;
    for (int r = from; r < to; r++) sum += (double)wide(x[(u64)rows[r] * width + i]);
    out[(u64)blockIdx.x * width + i] = (float)(sum / (double)(to - from));
}
#define POOL(T, N)                                                                               \
    extern "C" __global__ void pool_##N(const T *x, int width, const int *starts,                \
                                        const int *rows, float *out) {                           \
        pool(x, width, starts, rows, out);                                                       \
    }
#ifdef BASE
POOL(float, s)
POOL(bf16, b)
POOL(f16, h)
#endif

// -------------------------------------------------- rotation of queries and keys, and their storage

struct Heads { int heads, kv_heads, head_dim; };

// Blocks of a column take a row, a warp of them a head. Queries are written back, keys and values go to the cache.
template <class T>
DEVICE void place(T *qkv, Heads n, const float *q_norm, const float *k_norm, int rms, float eps,
                  const float *turns, int half, const int *places, T *keys, T *values,
                  const int *slots) {
    int row = blockIdx.x, lane = threadIdx.x & 31;
    int width = n.head_dim, kv = n.kv_heads * width;
    T *line = qkv + (u64)row * (n.heads * width + 2 * kv);
    u64 slot = (u64)slots[row] * kv;
    const float *cosine = turns ? turns + (u64)places[row] * 2 * half : nullptr;
    int turned = turns ? half : 0;
    if (!q_norm && ((width | turned) & 3) == 0) {
        // Four numbers a thread: pairs that are turned, what is only copied of the keys, and the values.
        int pairs = turned / 4, copied = width / 4 - 2 * pairs;
        int queries = n.heads * pairs, turning = queries + n.kv_heads * (pairs + copied);
        int all = turning + kv / 4;
        for (int i = blockIdx.y * blockDim.x + threadIdx.x; i < all; i += gridDim.y * blockDim.x) {
            if (i >= turning) {
                int at = (i - turning) * 4;
                store4(values + slot + at, load4(line + n.heads * width + kv + at));
                continue;
            }
            bool query = i < queries;
            int each = query ? pairs : pairs + copied, own = query ? i : i - queries;
            int head = own / each, at = own % each;
            const T *x = line + (query ? head : n.heads + head) * width;
            T *to = query ? line + head * width : keys + slot + head * width;
            if (at >= pairs) {
                at = 2 * turned + (at - pairs) * 4;
                store4(to + at, load4(x + at));
                continue;
            }
            at *= 4;
            four a = load4(x + at), b = load4(x + at + turned), c = load4(cosine + at), s = load4(cosine + half + at);
            four first, second;
            for (int j = 0; j < 4; j++) {
                first.x[j] = a.x[j] * c.x[j] - b.x[j] * s.x[j];
                second.x[j] = b.x[j] * c.x[j] + a.x[j] * s.x[j];
            }
            store4(to + at, first);
            store4(to + at + turned, second);
        }
        return;
    }
    int warps = blockDim.x >> 5;
    for (int h = blockIdx.y * warps + (threadIdx.x >> 5); h < n.heads + 2 * n.kv_heads; h += gridDim.y * warps) {
        T *x = line + h * width;
        if (h >= n.heads + n.kv_heads) {
            T *to = values + slot + (h - n.heads - n.kv_heads) * width;
            if ((width & 3) == 0) {
                for (int i = lane * 4; i < width; i += 128) store4(to + i, load4(x + i));
            } else {
                for (int i = lane; i < width; i += 32) to[i] = x[i];
            }
            continue;
        }
        bool query = h < n.heads;
        const float *weight = query ? q_norm : k_norm;
        T *to = query ? x : keys + slot + (h - n.heads) * width;
        float mean = 0.f, scale = 1.f;
        if (weight) {
            float sum = 0.f, squares = 0.f;
            if (!rms) {
                for (int i = lane; i < width; i += 32) sum += wide(x[i]);
                mean = warp_sum(sum) / width;
            }
            for (int i = lane; i < width; i += 32) {
                float v = wide(x[i]) - mean;
                squares += v * v;
            }
            scale = 1.f / sqrtf(warp_sum(squares) / width + eps);
        }
        for (int i = lane; i < turned; i += 32) {
            float a = wide(x[i]), b = wide(x[i + turned]);
            if (weight) {
                a = (a - mean) * scale * weight[i];
                b = (b - mean) * scale * weight[i + turned];
            }
            float c = cosine[i], s = cosine[half + i];
            to[i] = narrow<T>(a * c - b * s);
            to[i + turned] = narrow<T>(b * c + a * s);
        }
        if (query && !weight) continue;
        if (!weight && ((width | 2 * turned) & 3) == 0) {
            for (int i = 2 * turned + lane * 4; i < width; i += 128) store4(to + i, load4(x + i));
            continue;
        }
        for (int i = 2 * turned + lane; i < width; i += 32) {
            float a = wide(x[i]);
            if (weight) a = (a - mean) * scale * weight[i];
            to[i] = narrow<T>(a);
        }
    }
}
#define PLACE(T, N)                                                                              \
    extern "C" __global__ void __launch_bounds__(256)                                            \
        place_##N(T *qkv, Heads n, const float *q_norm, const float *k_norm, int rms, float eps, \
                  const float *turns, int half, const int *places, T *keys, T *values,           \
                  const int *slots) {                                                            \
        place(qkv, n, q_norm, k_norm, rms, eps, turns, half, places, keys, values, slots);       \
    }
#ifdef BASE
PLACE(float, s)
PLACE(bf16, b)
PLACE(f16, h)
#endif

// -------------------------------------------------------------------------------------- attention

// Up to 16 query rows of one segment (a query row is a position and a head of a group).
struct Tile {
    int first;      // row of the batch of the segment's first position
    int begin;      // first query row within the segment
    int rows;       // query rows of this tile
    int position;   // position of the segment's first row
    int stretches;  // place of its first stretch
    int keys;       // keys in all its stretches
};
struct Weighing {
    float scale, cap, alibi_scale;
    int causal, window;  // window 0: none
};

// Walks the stretches of a segment; the positions asked for never decrease.
struct Walk {
    const int *stretch;
    int start;
    DEVICE Walk(const int *stretches, const Tile &t) : stretch(stretches + 2 * t.stretches), start(0) {}
    DEVICE int row(int key) {
        while (key >= start + stretch[1]) {
            start += stretch[1];
            stretch += 2;
        }
        return stretch[0] + key - start;
    }
};

DEVICE float round_bf16(float x) { return wide(narrow<bf16>(x)); }
DEVICE float weigh(float s, const Weighing &w, const float *slopes, int head, int key, int place) {
    if (w.cap > 0.f) s = w.cap * tanhf(s / w.cap);
    if (slopes) s += round_bf16(slopes[head] * round_bf16((float)key)) * w.alibi_scale;
    if (w.causal && key > place) return -INF;
    if (w.window && key + w.window <= place) return -INF;
    return s;
}

// The same where biases may be exact: Falcon's are bfloat16s and scaled, a scale of zero says that they
// are neither (BLOOM).
DEVICE float weigh_any(float s, const Weighing &w, const float *slopes, int head, int key, int place) {
    if (slopes && w.alibi_scale == 0.f) return weigh(s + slopes[head] * (float)key, w, nullptr, head, key, place);
    return weigh(s, w, slopes, head, key, place);
}

// Any width of a head up to 256, any type: a warp takes a query row.
template <class T>
DEVICE void attend(const T *qkv, Heads n, const T *keys, const T *values, const Tile *tiles,
                   const int *stretches, Weighing w, const float *slopes, T *out) {
    __shared__ float queries[16][256];
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    Tile t = tiles[blockIdx.x];
    if (warp >= t.rows) return;
    int group = n.heads / n.kv_heads, width = n.head_dim, kv = n.kv_heads * width;
    int r = t.begin + warp;
    int row = t.first + r / group, head = blockIdx.y * group + r % group;
    int place = t.position + r / group;
    const T *q = qkv + (u64)row * (n.heads * width + 2 * kv) + head * width;
    for (int i = lane; i < width; i += 32) queries[warp][i] = wide(q[i]) * w.scale;
    __syncwarp();
    const T *k = keys + blockIdx.y * width, *v = values + blockIdx.y * width;
    int end = w.causal ? place + 1 : t.keys;
    int begin = w.window && place + 1 > w.window ? place + 1 - w.window : 0;
    float sums[8], most = -INF, total = 0.f;
    for (int i = 0; i < 8; i++) sums[i] = 0.f;
    Walk walk(stretches, t);
    for (int block = begin; block < end; block += 32) {
        int key = block + lane;
        int at = key < end ? walk.row(key) : 0;
        float s = -INF;
        if (key < end) {
            const T *x = k + (u64)at * kv;
            float dot = 0.f;
            if ((width & 3) == 0) {
                for (int i = 0; i < width; i += 4) {
                    four f = load4(x + i);
                    for (int j = 0; j < 4; j++) dot += f.x[j] * queries[warp][i + j];
                }
            } else {
                for (int i = 0; i < width; i++) dot += wide(x[i]) * queries[warp][i];
            }
            s = weigh_any(dot, w, slopes, head, key, place);
        }
        float peak = fmaxf(most, warp_max(s));
        float shrink = most == -INF ? 0.f : expf(most - peak);
        float p = s == -INF ? 0.f : expf(s - peak);
        if (s != s) p = s;
        total = total * shrink + warp_sum(p);
        most = peak;
        for (int i = 0; i < 8; i++) sums[i] *= shrink;
        int count = min(32, end - block);
        for (int j = 0; j < count; j++) {
            float share = __shfl_sync(~0u, p, j);
            const T *x = v + (u64)__shfl_sync(~0u, at, j) * kv;
            for (int i = 0; i < 8; i++)
                if (lane + 32 * i < width) sums[i] += share * wide(x[lane + 32 * i]);
        }
    }
    T *to = out + (u64)row * n.heads * width + head * width;
    for (int i = 0; i < 8; i++)
        if (lane + 32 * i < width) to[lane + 32 * i] = narrow<T>(sums[i] / total);
}
#define ATTEND(T, N)                                                                             \
    extern "C" __global__ void __launch_bounds__(512)                                            \
        attend_##N(const T *qkv, Heads n, const T *keys, const T *values, const Tile *tiles,     \
                   const int *stretches, Weighing w, const float *slopes, T *out) {              \
        attend(qkv, n, keys, values, tiles, stretches, w, slopes, out);                          \
    }
#ifdef BASE
ATTEND(float, s)
ATTEND(bf16, b)
ATTEND(f16, h)
#endif

template <class T> DEVICE void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1);
template <> DEVICE void mma<bf16>(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <> DEVICE void mma<f16>(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Numbers as the matrix units take them: those of 16 bits as they are, floats as the sum of three bfloat16s.
template <class T> struct Unit {
    typedef T part;
    static constexpr int PARTS = 1;
};
template <> struct Unit<float> {
    typedef bf16 part;
    static constexpr int PARTS = 3;
};
DEVICE void split_pair(float lo, float hi, u32 (&to)[3]) {
    for (int i = 0; i < 3; i++) {
        to[i] = pair<bf16>(lo, hi);
        lo -= __uint_as_float(to[i] << 16);
        hi -= __uint_as_float(to[i] & 0xFFFF0000u);
    }
}
// Two numbers, and two pairs.
template <class T> DEVICE void two_parts(const T *x, u32 (&to)[1]) { to[0] = *(const u32 *)x; }
DEVICE void two_parts(const float *x, u32 (&to)[3]) {
    float2 v = *(const float2 *)x;
    split_pair(v.x, v.y, to);
}
template <class T> DEVICE void four_parts(const T *x, u32 (&a)[1], u32 (&b)[1]) {
    uint2 v = *(const uint2 *)x;
    a[0] = v.x;
    b[0] = v.y;
}
DEVICE void four_parts(const float *x, u32 (&a)[3], u32 (&b)[3]) {
    float4 v = *(const float4 *)x;
    split_pair(v.x, v.y, a);
    split_pair(v.z, v.w, b);
}
// A product of sums of parts, the smallest first; parts that are too small together are left out.
template <class T, int P>
DEVICE void mma_parts(float (&d)[4], const u32 (&a)[P][4], const u32 (&b0)[P], const u32 (&b1)[P]) {
    for (int size = P - 1; size >= 0; size--)
        for (int i = 0; i <= size; i++) mma<T>(d, a[i], b0[size - i], b1[size - i]);
}
// Of 16-bit numbers the quick exponential is exact enough.
template <class T> DEVICE float exponential(float x) { return __expf(x); }
template <> DEVICE float exponential<float>(float x) { return expf(x); }

// The matrix units, straight from device memory: sixteen query rows a block, its warps share the
// keys between them. Which dimension is which column is chosen so that every load is wide; both
// sides of a product use the same choice.
template <class T, int HD>
DEVICE void attend_units(const T *qkv, Heads n, const T *keys, const T *values, const Tile *tiles,
                         const int *stretches, Weighing w, const float *slopes, T *out) {
    constexpr int STEPS = HD / 16, COLUMNS = HD / 8, PARTS = Unit<T>::PARTS;
    // Sixteen bytes of keys or values at a time, where that is eight numbers.
    constexpr bool WIDE = PARTS == 1 && HD % 64 == 0;
    typedef typename Unit<T>::part U;
    __shared__ float shared_most[4][16], shared_total[4][16];
    __shared__ float shared_sums[16 * HD];
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int g = lane >> 2, c = lane & 3;
    Tile t = tiles[blockIdx.x];
    // By the tile's own keys, not by the block's size, which is that of the batch's longest: sums do not depend
    // on what else is asked.
    int warps = t.keys > 128 ? blockDim.x >> 5 : 1;
    if (warp >= warps) return;
    int group = n.heads / n.kv_heads, kv = n.kv_heads * HD;
    int stride = n.heads * HD + 2 * kv;
    int head[2], place[2];
    u64 to[2];
    u32 q[STEPS][PARTS][4];
    for (int i = 0; i < 2; i++) {
        int r = g + 8 * i;
        bool there = r < t.rows;
        r = t.begin + (there ? r : 0);
        int row = t.first + r / group;
        head[i] = blockIdx.y * group + r % group;
        place[i] = t.position + r / group;
        to[i] = (u64)row * n.heads * HD + head[i] * HD;
        const T *x = qkv + (u64)row * stride + head[i] * HD + c * 4;
        for (int s = 0; s < STEPS; s++) {
            u32 a[PARTS], b[PARTS];
            four_parts(x + s * 16, a, b);
            for (int p = 0; p < PARTS; p++) {
                q[s][p][i] = a[p];
                q[s][p][2 + i] = b[p];
            }
        }
    }
    int last = t.position + (t.begin + t.rows - 1) / group;
    int earliest = t.position + t.begin / group;
    int end = w.causal ? last + 1 : t.keys;
    int begin = w.window && earliest + 1 > w.window ? earliest + 1 - w.window : 0;
    float sums[COLUMNS][4], most[2] = {-INF, -INF}, total[2] = {0.f, 0.f};
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 0; i < 4; i++) sums[j][i] = 0.f;
    const T *k = keys + blockIdx.y * HD + c * 4, *v = values + blockIdx.y * HD;
    Walk walk(stretches, t);
    for (int block = begin + warp * 32; block < end; block += warps * 32) {
        int mine = min(block + lane, end - 1);
        int at = walk.row(mine);
        bool both = block + 16 < end;
        float s[4][4];
        for (int j = 0; j < 4; j++) {
            for (int i = 0; i < 4; i++) s[j][i] = 0.f;
            if (j < 2 || both) {
                const T *x = k + (u64)__shfl_sync(~0u, at, 8 * j + g) * kv;
                u32 a[STEPS][PARTS], b[STEPS][PARTS];
                for (int p = 0; p < STEPS; p++) four_parts(x + p * 16, a[p], b[p]);
                for (int p = 0; p < STEPS; p++) mma_parts<U>(s[j], q[p], a[p], b[p]);
            }
        }
        float peak[2] = {most[0], most[1]};
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 4; i++) {
                int key = block + 8 * j + 2 * c + (i & 1);
                float x = key < end ? weigh(s[j][i] * w.scale, w, slopes, head[i >> 1], key, place[i >> 1])
                                    : -INF;
                s[j][i] = x;
                peak[i >> 1] = fmaxf(peak[i >> 1], x);
            }
        float shrink[2], sum[2] = {0.f, 0.f};
        for (int i = 0; i < 2; i++) {
            peak[i] = fmaxf(peak[i], __shfl_xor_sync(~0u, peak[i], 1));
            peak[i] = fmaxf(peak[i], __shfl_xor_sync(~0u, peak[i], 2));
            shrink[i] = most[i] == -INF ? 0.f : exponential<T>(most[i] - peak[i]);
            most[i] = peak[i];
        }
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 4; i++) {
                float x = s[j][i];
                float p = x == -INF ? 0.f : exponential<T>(x - peak[i >> 1]);
                if (x != x) p = x;
                s[j][i] = p;
                sum[i >> 1] += p;
            }
        for (int i = 0; i < 2; i++) {
            sum[i] += __shfl_xor_sync(~0u, sum[i], 1);
            sum[i] += __shfl_xor_sync(~0u, sum[i], 2);
            total[i] = total[i] * shrink[i] + sum[i];
        }
        for (int j = 0; j < COLUMNS; j++)
            for (int i = 0; i < 4; i++) sums[j][i] *= shrink[i >> 1];
        for (int m = 0; m < 2; m++) {
            if (m && !both) break;
            u32 p[PARTS][4];
            for (int i = 0; i < 4; i++) {
                u32 parts[PARTS];
                const float *two = s[2 * m + (i >> 1)] + 2 * (i & 1);
                if constexpr (PARTS == 1)
                    parts[0] = pair<U>(two[0], two[1]);
                else
                    split_pair(two[0], two[1], parts);
                for (int o = 0; o < PARTS; o++) p[o][i] = parts[o];
            }
            const T *x[4];
            for (int i = 0; i < 4; i++) {
                int key = 16 * m + 2 * c + (i & 1) + (i >> 1) * 8;
                x[i] = v + (u64)__shfl_sync(~0u, at, key) * kv;
            }
            if constexpr (WIDE) {
                for (int j = 0; j < HD / 64; j++) {
                    uint4 f[4];
                    for (int i = 0; i < 4; i++) f[i] = *(const uint4 *)(x[i] + j * 64 + g * 8);
                    const u32 *a0 = &f[0].x, *a1 = &f[1].x, *a2 = &f[2].x, *a3 = &f[3].x;
                    for (int e = 0; e < 4; e++) {
                        mma<U>(sums[8 * j + 2 * e], p[0], __byte_perm(a0[e], a1[e], 0x5410),
                               __byte_perm(a2[e], a3[e], 0x5410));
                        mma<U>(sums[8 * j + 2 * e + 1], p[0], __byte_perm(a0[e], a1[e], 0x7632),
                               __byte_perm(a2[e], a3[e], 0x7632));
                    }
                }
            } else {
                for (int j = 0; j < HD / 16; j++) {
                    u32 f[4][PARTS];
                    for (int i = 0; i < 4; i++) two_parts(x[i] + j * 16 + g * 2, f[i]);
                    for (int e = 0; e < 2; e++) {
                        u32 a[PARTS], b[PARTS], by = e ? 0x7632 : 0x5410;
                        for (int o = 0; o < PARTS; o++) {
                            a[o] = __byte_perm(f[0][o], f[1][o], by);
                            b[o] = __byte_perm(f[2][o], f[3][o], by);
                        }
                        mma_parts<U>(sums[2 * j + e], p, a, b);
                    }
                }
            }
        }
    }
    if (warps > 1) {
        for (int i = 0; i < 2; i++)
            if (c == 0) {
                shared_most[warp][g + 8 * i] = most[i];
                shared_total[warp][g + 8 * i] = total[i];
            }
        __syncthreads();
        for (int i = 0; i < 2; i++) {
            float peak = -INF, sum = 0.f;
            for (int o = 0; o < warps; o++) peak = fmaxf(peak, shared_most[o][g + 8 * i]);
            for (int o = 0; o < warps; o++) {
                float m = shared_most[o][g + 8 * i];
                sum += m == -INF ? 0.f : shared_total[o][g + 8 * i] * exponential<T>(m - peak);
            }
            float shrink = most[i] == -INF ? 0.f : exponential<T>(most[i] - peak);
            total[i] = sum;
            for (int j = 0; j < COLUMNS; j++) {
                sums[j][2 * i] *= shrink;
                sums[j][2 * i + 1] *= shrink;
            }
        }
        for (int o = 1; o < warps; o++) {
            if (warp == o)
                for (int j = 0; j < COLUMNS; j++)
                    for (int i = 0; i < 4; i++) shared_sums[(j * 4 + i) * 32 + lane] = sums[j][i];
            __syncthreads();
            if (warp == 0)
                for (int j = 0; j < COLUMNS; j++)
                    for (int i = 0; i < 4; i++) sums[j][i] += shared_sums[(j * 4 + i) * 32 + lane];
            __syncthreads();
        }
        if (warp) return;
    }
    for (int i = 0; i < 2; i++) {
        if (g + 8 * i >= t.rows) continue;
        float share = 1.f / total[i];
        T *y = out + to[i];
        if constexpr (PARTS > 1) {
            for (int j = 0; j < HD / 16; j++)
                *(float4 *)(y + j * 16 + c * 4) =
                    make_float4(sums[2 * j][2 * i] * share, sums[2 * j + 1][2 * i] * share,
                                sums[2 * j][2 * i + 1] * share, sums[2 * j + 1][2 * i + 1] * share);
        } else if constexpr (WIDE) {
            for (int j = 0; j < HD / 64; j++)
                for (int e = 0; e < 2; e++) {
                    u32 f[4];
                    for (int m = 0; m < 4; m++)
                        f[m] = pair<T>(sums[8 * j + 2 * m][2 * i + e] * share,
                                       sums[8 * j + 2 * m + 1][2 * i + e] * share);
                    *(uint4 *)(y + j * 64 + c * 16 + e * 8) = make_uint4(f[0], f[1], f[2], f[3]);
                }
        } else {
            for (int j = 0; j < HD / 16; j++)
                *(uint2 *)(y + j * 16 + c * 4) =
                    make_uint2(pair<T>(sums[2 * j][2 * i] * share, sums[2 * j + 1][2 * i] * share),
                               pair<T>(sums[2 * j][2 * i + 1] * share, sums[2 * j + 1][2 * i + 1] * share));
        }
    }
}
#define ATTEND_UNITS(T, N, HD)                                                                   \
    extern "C" __global__ void __launch_bounds__(128)                                            \
        attend_##N##HD(const T *qkv, Heads n, const T *keys, const T *values, const Tile *tiles, \
                       const int *stretches, Weighing w, const float *slopes, T *out) {          \
        attend_units<T, HD>(qkv, n, keys, values, tiles, stretches, w, slopes, out);             \
    }
#define ATTEND_WIDTHS(T, N)                                                                      \
    ATTEND_UNITS(T, N, 32)                                                                       \
    ATTEND_UNITS(T, N, 64)                                                                       \
    ATTEND_UNITS(T, N, 80)                                                                       \
    ATTEND_UNITS(T, N, 96)                                                                       \
    ATTEND_UNITS(T, N, 128)                                                                      \
    ATTEND_UNITS(T, N, 256)
#ifdef ATTEND_S
ATTEND_UNITS(float, s, 32)
ATTEND_UNITS(float, s, 64)
ATTEND_UNITS(float, s, 80)
ATTEND_UNITS(float, s, 96)
ATTEND_UNITS(float, s, 128)
#endif
#ifdef ATTEND_B
ATTEND_WIDTHS(bf16, b)
#endif
#ifdef ATTEND_H
ATTEND_WIDTHS(f16, h)
#endif

// ------------------------------------------------------------------------- attention while writing

// Sixteen bytes as numbers.
DEVICE void spread(uint4 x, float (&to)[4], float) {
    const u32 *p = &x.x;
    for (int i = 0; i < 4; i++) to[i] = __uint_as_float(p[i]);
}
DEVICE void spread(uint4 x, float (&to)[8], bf16) {
    const u32 *p = &x.x;
    for (int i = 0; i < 4; i++) {
        to[2 * i] = __uint_as_float(p[i] << 16);
        to[2 * i + 1] = __uint_as_float(p[i] & 0xffff0000u);
    }
}
DEVICE void spread(uint4 x, float (&to)[8], f16) {
    const u32 *p = &x.x;
    for (int i = 0; i < 4; i++) {
        f16 lo = {(u16)p[i]}, hi = {(u16)(p[i] >> 16)};
        to[2 * i] = wide(lo);
        to[2 * i + 1] = wide(hi);
    }
}
DEVICE float exponential(float x, float) { return expf(x); }
DEVICE float exponential(float x, bf16) { return __expf(x); }
DEVICE float exponential(float x, f16) { return __expf(x); }

// One new position a segment, as when answers are written: each key is read once for one to four query rows,
// and memory is all that counts. A few lanes share a key, sixteen bytes each; a warp has as many keys on their
// way as its registers hold, and each group of lanes sums its own keys until the end. The order of sums depends
// on the number of keys alone, not on what else is in the batch.
template <class T, int HD, int R>
DEVICE void attend_last(const T *qkv, Heads n, const T *keys, const T *values, const Tile *tiles,
                        const int *stretches, Weighing w, const float *slopes, T *out) {
    constexpr int EACH = 16 / sizeof(T), LANES = HD / EACH, GROUPS = 32 / LANES;
    constexpr int STEPS = 32 / GROUPS < 4 ? 32 / GROUPS : 4, KEYS = GROUPS * STEPS;
    constexpr int PARTS = 8 * GROUPS;
    __shared__ float part_most[R][PARTS], part_total[R][PARTS], part_sums[R][PARTS][HD];
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int member = lane % LANES, own = lane / LANES;
    Tile t = tiles[blockIdx.x];
    int group = n.heads / n.kv_heads, kv = n.kv_heads * HD;
    int first = blockIdx.y * group + t.begin, place = t.position;
    const T *x = qkv + (u64)t.first * (n.heads * HD + 2 * kv) + first * HD + member * EACH;
    float q[R][EACH];
    for (int r = 0; r < R; r++) spread(*(const uint4 *)(x + (r < t.rows ? r : 0) * HD), q[r], T());
    int end = w.causal ? place + 1 : t.keys;
    int begin = w.window && place + 1 > w.window ? place + 1 - w.window : 0;
    int shift = blockIdx.y * HD + member * EACH;
    // Keys are shared out to eight warps; a smaller block does the work of several one after the other.
    for (int turn = warp; turn < 8; turn += blockDim.x >> 5) {
        float sums[R][EACH], most[R], total[R];
        for (int r = 0; r < R; r++) {
            most[r] = -INF;
            total[r] = 0.f;
            for (int i = 0; i < EACH; i++) sums[r][i] = 0.f;
        }
        Walk walk(stretches, t);
        for (int block = begin + turn * KEYS; block < end; block += 8 * KEYS) {
            int at = walk.row(min(block + lane % KEYS, end - 1));
            uint4 k[STEPS], v[STEPS];
#pragma unroll
            for (int u = 0; u < STEPS; u++) {
                u64 from = (u64)__shfl_sync(~0u, at, u * GROUPS + own) * kv + shift;
                k[u] = *(const uint4 *)(keys + from);
                v[u] = *(const uint4 *)(values + from);
            }
#pragma unroll
            for (int r = 0; r < R; r++) {
                float s[STEPS], peak = most[r];
#pragma unroll
                for (int u = 0; u < STEPS; u++) {
                    float f[EACH], dot = 0.f;
                    spread(k[u], f, T());
                    for (int i = 0; i < EACH; i++) dot += f[i] * q[r][i];
                    for (int d = LANES / 2; d; d >>= 1) dot += __shfl_xor_sync(~0u, dot, d);
                    int key = block + u * GROUPS + own;
                    s[u] = key < end ? weigh_any(dot * w.scale, w, slopes, first + r, key, place) : -INF;
                    peak = fmaxf(peak, s[u]);
                }
                float shrink = most[r] == -INF ? 0.f : exponential(most[r] - peak, T());
                most[r] = peak;
                total[r] *= shrink;
                for (int i = 0; i < EACH; i++) sums[r][i] *= shrink;
#pragma unroll
                for (int u = 0; u < STEPS; u++) {
                    float p = s[u] == -INF ? 0.f : exponential(s[u] - peak, T()), f[EACH];
                    if (s[u] != s[u]) p = s[u];
                    total[r] += p;
                    spread(v[u], f, T());
                    // A key that is not there repeats the last one's numbers, with no weight.
                    for (int i = 0; i < EACH; i++) sums[r][i] += p * f[i];
                }
            }
        }
        int part = turn * GROUPS + own;
        for (int r = 0; r < R; r++) {
            if (member == 0) {
                part_most[r][part] = most[r];
                part_total[r][part] = total[r];
            }
            for (int i = 0; i < EACH; i++) part_sums[r][part][member * EACH + i] = sums[r][i];
        }
    }
    __syncthreads();
    int rows = min(R, t.rows);
    for (int i = threadIdx.x; i < rows * HD; i += blockDim.x) {
        int r = i / HD, column = i % HD;
        float peak = -INF, all = 0.f, sum = 0.f;
        for (int p = 0; p < PARTS; p++) peak = fmaxf(peak, part_most[r][p]);
        for (int p = 0; p < PARTS; p++) {
            float m = part_most[r][p];
            if (m == -INF && part_total[r][p] == part_total[r][p]) continue;
            float share = m == -INF ? 1.f : exponential(m - peak, T());
            all += part_total[r][p] * share;
            sum += part_sums[r][p][column] * share;
        }
        out[(u64)t.first * n.heads * HD + (first + r) * HD + column] = narrow<T>(sum / all);
    }
}
#define ATTEND_LAST(T, N, HD, R)                                                                         \
    extern "C" __global__ void __launch_bounds__(256, 3)                                                 \
        attend_last_##N##HD##_##R(const T *qkv, Heads n, const T *keys, const T *values,                 \
                                  const Tile *tiles, const int *stretches, Weighing w,                   \
                                  const float *slopes, T *out) {                                         \
        attend_last<T, HD, R>(qkv, n, keys, values, tiles, stretches, w, slopes, out);                   \
    }
#define ATTEND_LAST_ROWS(T, N, HD) ATTEND_LAST(T, N, HD, 1) ATTEND_LAST(T, N, HD, 2) ATTEND_LAST(T, N, HD, 4)
#ifdef LAST_B
ATTEND_LAST_ROWS(bf16, b, 64)
ATTEND_LAST_ROWS(bf16, b, 128)
#endif
#ifdef LAST_H
ATTEND_LAST_ROWS(f16, h, 64)
ATTEND_LAST_ROWS(f16, h, 128)
#endif
#ifdef LAST_S
ATTEND_LAST_ROWS(float, s, 64)
ATTEND_LAST_ROWS(float, s, 128)
#endif

// --------------------------------------------------------------------------------------- products

DEVICE void copy16(u32 to, const void *from, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(there ? 16 : 0));
}
DEVICE void ldmatrix(u32 (&d)[4], u32 at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(at));
}

// Which of the three parts of both sides a pass over the width multiplies, least products first. Three
// passes: the weights have one part.
DEVICE void pass_of(int pass, int passes, int &a, int &b) {
    if (passes == 3) {
        a = 2 - pass;
        b = 0;
        return;
    }
    // least first: x2·w0, x1·w1, x0·w2, x1·w0, x0·w1, x0·w0
    const u32 of_x = 0x001012u, of_w = 0x010210u;
    a = passes == 1 ? 0 : (of_x >> (4 * pass)) & 15;
    b = passes == 1 ? 0 : (of_w >> (4 * pass)) & 15;
}

#ifndef STAGES_LARGE
#define STAGES_LARGE 4
#endif

struct Product {
    int m, n, k;
    int passes;       // 1; 6 where both sides are split in three; 3 where the rows are
    int lda, ldb;     // numbers from row to row
    float cap;        // squashes what the head gives; 0: not
};

enum { STORE, ACCUMULATE, EXPONENTIALS };

// C = A · Bᵀ (+ bias): A has m rows of k numbers, B has n rows. `EXPONENTIALS` keeps no product: for
// each row and column tile it leaves the largest number and the sum of exponentials.
template <class T, class O, int BM, int BN, int WM, int WN, int STAGES, int END>
DEVICE void product(const T *a, const T *b, const float *bias, O *out, Product s) {
    constexpr int WARPS_M = BM / WM, WARPS_N = BN / WN, THREADS = 32 * WARPS_M * WARPS_N;
    constexpr int TM = WM / 16, TN = WN / 8, BK = 64;
    constexpr int STAGE = (BM + BN) * BK * 2;
    extern __shared__ __align__(128) u8 shared[];
    u32 base = (u32)__cvta_generic_to_shared(shared);
    int tid = threadIdx.x, warp = tid >> 5, lane = tid & 31;
    int warp_m = warp % WARPS_M, warp_n = warp / WARPS_M;
    // Tiles are taken in bands of rows, so that both sides stay in the cache.
    int tiles_m = (s.m + BM - 1) / BM, tiles_n = (s.n + BN - 1) / BN;
    const int BAND = 16;
    int band = blockIdx.x / (BAND * tiles_n);
    int high = min(BAND, tiles_m - band * BAND);
    int within = blockIdx.x - band * BAND * tiles_n;
    int tile_m = band * BAND + within % high, tile_n = within / high;
    int m0 = tile_m * BM, n0 = tile_n * BN;
    int blocks = (s.k + BK - 1) / BK, all = blocks * s.passes;

    // Each thread copies the same chunk of rows THREADS / 8 apart, block after block.
    constexpr int ROWS_A = BM * 8 / THREADS, ROWS_B = BN * 8 / THREADS, APART = THREADS / 8;
    int row = tid >> 3, chunk = tid & 7;
    u32 place = row * 128 + ((chunk ^ (row & 7)) << 4);
    const T *from_a = a + (u64)(m0 + row) * s.lda + chunk * 8;
    const T *from_b = b + (u64)(n0 + row) * s.ldb + chunk * 8;
    u64 next_a = (u64)APART * s.lda, next_b = (u64)APART * s.ldb;
    int pass = 0, k0 = 0, pa, pb;
    pass_of(0, s.passes, pa, pb);
    auto load = [&](int stage) {
        u32 to = base + stage * STAGE + place;
        bool inside = k0 + chunk * 8 < s.k;
        const T *from = from_a + pa * s.k + k0;
#pragma unroll
        for (int i = 0; i < ROWS_A; i++)
            copy16(to + i * APART * 128, from + i * next_a, inside && m0 + row + i * APART < s.m);
        to += BM * BK * 2;
        from = from_b + pb * s.k + k0;
#pragma unroll
        for (int i = 0; i < ROWS_B; i++)
            copy16(to + i * APART * 128, from + i * next_b, inside && n0 + row + i * APART < s.n);
        k0 += BK;
        if (k0 >= s.k) {
            k0 = 0;
            pass++;
            pass_of(pass, s.passes, pa, pb);
        }
    };

    float acc[TM][TN][4];
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) acc[i][j][e] = 0.f;
#pragma unroll
    for (int i = 0; i < STAGES - 1; i++) {
        if (i < all) load(i);
        asm volatile("cp.async.commit_group;");
    }
    int row_a = warp_m * WM + (lane & 15), chunk_a = lane >> 4;
    int row_b = warp_n * WN + (lane & 7) + ((lane >> 4) << 3), chunk_b = (lane >> 3) & 1;
    for (int step = 0; step < all; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        if (step + STAGES - 1 < all) load((step + STAGES - 1) % STAGES);
        asm volatile("cp.async.commit_group;");
        u32 at = base + (step % STAGES) * STAGE, bt = at + BM * BK * 2;
        u32 fa[2][TM][4], fb[2][TN / 2][4];
        auto fetch = [&](int slot, int kk) {
#pragma unroll
            for (int i = 0; i < TM; i++) {
                int row = row_a + i * 16;
                ldmatrix(fa[slot][i], at + row * 128 + (((kk * 2 + chunk_a) ^ (row & 7)) << 4));
            }
#pragma unroll
            for (int j = 0; j < TN / 2; j++) {
                int row = row_b + j * 16;
                ldmatrix(fb[slot][j], bt + row * 128 + (((kk * 2 + chunk_b) ^ (row & 7)) << 4));
            }
        };
        fetch(0, 0);
#pragma unroll
        for (int kk = 0; kk < 4; kk++) {
            if (kk < 3) fetch((kk + 1) & 1, kk + 1);
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++)
                    mma<T>(acc[i][j], fa[kk & 1][i], fb[kk & 1][j / 2][(j & 1) * 2],
                           fb[kk & 1][j / 2][(j & 1) * 2 + 1]);
        }
    }
    int g = lane >> 2, c = lane & 3;
    if constexpr (END == EXPONENTIALS) {
        asm volatile("cp.async.wait_all;");
        __syncthreads();
        float2 *room = (float2 *)shared;  // [WARPS_N][BM]
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                float peak = -INF, sum = 0.f;
#pragma unroll
                for (int j = 0; j < TN; j++)
#pragma unroll
                    for (int f = 0; f < 2; f++) {
                        int n = n0 + warp_n * WN + j * 8 + 2 * c + f;
                        float x = acc[i][j][2 * e + f];
                        if (bias && n < s.n) x += bias[n];
                        if (s.cap > 0.f) x = s.cap * tanhf(x / s.cap);
                        if (n >= s.n) x = -INF;
                        acc[i][j][2 * e + f] = x;
                        peak = fmaxf(peak, x);
                    }
                peak = fmaxf(peak, __shfl_xor_sync(~0u, peak, 1));
                peak = fmaxf(peak, __shfl_xor_sync(~0u, peak, 2));
#pragma unroll
                for (int j = 0; j < TN; j++)
#pragma unroll
                    for (int f = 0; f < 2; f++) {
                        float x = acc[i][j][2 * e + f];
                        sum += x == -INF ? 0.f : __expf(x - peak);
                    }
                sum += __shfl_xor_sync(~0u, sum, 1);
                sum += __shfl_xor_sync(~0u, sum, 2);
                if (c == 0)
                    room[warp_n * BM + warp_m * WM + i * 16 + e * 8 + g] = make_float2(peak, sum);
            }
        __syncthreads();
        for (int r = tid; r < BM; r += THREADS) {
            if (m0 + r >= s.m) continue;
            float peak = -INF, sum = 0.f;
#pragma unroll
            for (int o = 0; o < WARPS_N; o++) peak = fmaxf(peak, room[o * BM + r].x);
#pragma unroll
            for (int o = 0; o < WARPS_N; o++) {
                float2 p = room[o * BM + r];
                if (p.x != -INF || p.y != p.y) sum += p.y * __expf(p.x - peak);
            }
            ((float2 *)out)[(u64)(m0 + r) * tiles_n + tile_n] = make_float2(peak, sum);
        }
    } else
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            int m = m0 + warp_m * WM + i * 16 + e * 8 + g;
            if (m >= s.m) continue;
            O *line = out + (u64)m * s.n;
#pragma unroll
            for (int j = 0; j < TN; j++) {
                int n = n0 + warp_n * WN + j * 8 + 2 * c;
                float x = acc[i][j][2 * e], y = acc[i][j][2 * e + 1];
                if (n < s.n) {
                    if (bias) x += bias[n];
                    if constexpr (END == ACCUMULATE) x += wide(line[n]);
                    line[n] = narrow<O>(x);
                }
                if (n + 1 < s.n) {
                    if (bias) y += bias[n + 1];
                    if constexpr (END == ACCUMULATE) y += wide(line[n + 1]);
                    line[n + 1] = narrow<O>(y);
                }
            }
        }
}
#define PRODUCT(T, O, NAME, END)                                                                 \
    extern "C" __global__ void __launch_bounds__(256, 1)                                         \
        product_large_##NAME(const T *a, const T *b, const float *bias, O *out, Product s) {     \
        product<T, O, 128, 256, 64, 64, STAGES_LARGE, END>(a, b, bias, out, s);                  \
    }                                                                                            \
    extern "C" __global__ void __launch_bounds__(128, 2)                                         \
        product_small_##NAME(const T *a, const T *b, const float *bias, O *out, Product s) {     \
        product<T, O, 64, 64, 32, 32, 3, END>(a, b, bias, out, s);                               \
    }
#define PRODUCTS(T, N)                                                                           \
    PRODUCT(T, T, N##_store_##N, STORE)                                                          \
    PRODUCT(T, float, N##_store_s, STORE)                                                        \
    PRODUCT(T, T, N##_add_##N, ACCUMULATE)                                                       \
    PRODUCT(T, float, N##_add_s, ACCUMULATE)                                                     \
    PRODUCT(T, float, N##_exponentials, EXPONENTIALS)
#ifdef PRODUCTS_B
PRODUCTS(bf16, b)
#endif
#ifdef PRODUCTS_H
PRODUCTS(f16, h)
#endif

#ifdef BASE
// Widths that are no multiple of eight: one thread, one number.
template <class T> DEVICE float plain_dot(const T *x, const T *w, int k, int passes) {
    float sum = 0.f;
    for (int i = 0; i < k; i++) {
        float p = wide(x[i]), q = wide(w[i]);
        if (passes > 1) p += wide(x[k + i]) + wide(x[2 * k + i]);
        if (passes == 6) q += wide(w[k + i]) + wide(w[2 * k + i]);
        sum += p * q;
    }
    return sum;
}
template <class T, class O>
DEVICE void product_plain(const T *a, const T *b, const float *bias, O *out, Product s, int add) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (u64)s.m * s.n) return;
    int m = i / s.n, n = i % s.n;
    float y = plain_dot(a + (u64)m * s.lda, b + (u64)n * s.ldb, s.k, s.passes);
    if (bias) y += bias[n];
    if (add) y += wide(out[i]);
    out[i] = narrow<O>(y);
}
#define PLAIN(T, O, N)                                                                           \
    extern "C" __global__ void product_plain_##N(const T *a, const T *b, const float *bias,      \
                                                 O *out, Product s, int add) {                   \
        product_plain(a, b, bias, out, s, add);                                                  \
    }
PLAIN(bf16, bf16, bb)
PLAIN(bf16, float, bs)
PLAIN(f16, f16, hh)
PLAIN(f16, float, hs)

// ------------------------------------------------------------------------------------------- head

// Tiles of (largest, sum of exponentials) become one normaliser a row.
extern "C" __global__ void normalise(const float2 *parts, int tiles, int rows, float *out) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (row >= rows) return;
    const float2 *p = parts + (u64)row * tiles;
    float peak = -INF;
    for (int i = lane; i < tiles; i += 32) peak = fmaxf(peak, p[i].x);
    peak = warp_max(peak);
    float sum = 0.f;
    for (int i = lane; i < tiles; i += 32)
        if (p[i].x != -INF || p[i].y != p[i].y) sum += p[i].y * expf(p[i].x - peak);
    sum = warp_sum(sum);
    if (lane == 0) out[row] = peak + logf(sum);
}
// The normaliser from logits that lie in memory.
extern "C" __global__ void __launch_bounds__(512)
    normalise_logits(const float *logits, int width, float cap, float *out) {
    __shared__ float room[2][16];
    const float *x = logits + (u64)blockIdx.x * width;
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    float peak = -INF, sum = 0.f;
    // Whole groups of four where rows are aligned to them.
    int whole = (width & 3) == 0 ? width / 4 : 0;
    for (int i = threadIdx.x; i < whole; i += 512) {
        float4 f = *(const float4 *)(x + 4 * i);
        float v[4] = {f.x, f.y, f.z, f.w};
        if (cap > 0.f)
            for (int j = 0; j < 4; j++) v[j] = cap * tanhf(v[j] / cap);
        float most = fmaxf(fmaxf(v[0], v[1]), fmaxf(v[2], v[3]));
        if (most > peak) {
            sum *= __expf(peak - most);
            peak = most;
        }
        for (int j = 0; j < 4; j++) sum += __expf(v[j] - peak);
    }
    for (int i = 4 * whole + threadIdx.x; i < width; i += 512) {
        float v = cap > 0.f ? cap * tanhf(x[i] / cap) : x[i];
        if (v > peak) {
            sum *= __expf(peak - v);
            peak = v;
        }
        sum += __expf(v - peak);
    }
    float top = warp_max(peak);
    sum = peak == -INF && sum == sum ? 0.f : sum * __expf(peak - top);
    sum = warp_sum(sum);
    if (lane == 0) {
        room[0][warp] = top;
        room[1][warp] = sum;
    }
    __syncthreads();
    if (warp) return;
    float p = lane < 16 ? room[0][lane] : -INF, s = lane < 16 ? room[1][lane] : 0.f;
    float all = warp_max(p);
    s = warp_sum(p == -INF && s == s ? 0.f : s * __expf(p - all));
    if (lane == 0) out[blockIdx.x] = all + logf(s);
}

// The log-probability of each wanted token: its own product, less the row's normaliser.
template <class X, class T>
DEVICE void pick(const X *x, const T *weights, const float *bias, const float *normalisers,
                 const int *wanted, int count, int width, int parts, float cap, float *out) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (i >= count) return;
    int row = wanted[2 * i], token = wanted[2 * i + 1];
    const X *a = x + (u64)row * width;
    const T *b = weights + (u64)token * width * parts;
    float sum = 0.f;
    for (int j = lane; j < width; j += 32) {
        float w = wide(b[j]);
        if (parts > 1) w += wide(b[width + j]) + wide(b[2 * width + j]);
        sum += wide(a[j]) * w;
    }
    sum = warp_sum(sum);
    if (lane) return;
    if (bias) sum += bias[token];
    if (cap > 0.f) sum = cap * tanhf(sum / cap);
    out[i] = sum - normalisers[row];
}
#define PICK(X, T, N)                                                                            \
    extern "C" __global__ void pick_##N(const X *x, const T *weights, const float *bias,         \
                                        const float *normalisers, const int *wanted, int count,  \
                                        int width, int parts, float cap, float *out) {           \
        pick(x, weights, bias, normalisers, wanted, count, width, parts, cap, out);              \
    }
PICK(float, bf16, s)
PICK(bf16, bf16, b)
PICK(f16, f16, h)

// How the next token of a row is drawn. `random` is uniform over all 64 bits.
struct Draw {
    double inverse_temperature; // 0 takes the greatest logit
    double top_p;               // 1 takes all
    u64 random;
    u32 top_k; // 0 takes all
    u32 unused;
};

// Probabilities are whole numbers in units of the greatest one's 2^-44, so that sums are exact and the same
// in whatever order threads add; 2^18 tokens fit.
#define UNIT 17592186044416.0

// A row of logits, squashed to a range where the model does that.
struct Row {
    const float *at;
    float cap;
    DEVICE float operator[](int i) const { return cap > 0 ? cap * tanhf(at[i] / cap) : at[i]; }
};

// Larger for larger logits.
DEVICE u32 order_of(float x) {
    u32 bits = __float_as_uint(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

DEVICE u64 weight_of(float x, float top, double inverse_temperature) {
    return (u64)(exp(((double)x - (double)top) * inverse_temperature) * UNIT);
}

// Tokens in order of their logits, down to the one with which the goal is reached: a number of them (`by_count`)
// or a sum of their weights. Gives the order of the last and how many of those equal to it are taken. All 512
// threads call it.
DEVICE void select_top(Row x, int width, float top, double inverse_temperature, bool by_count, u64 goal,
                       u64 *counts, u64 *sums, u32 &last, u64 &ties) {
    __shared__ u32 chosen;
    __shared__ u64 left;
    u32 prefix = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int i = threadIdx.x; i < 256; i += 512) counts[i] = sums[i] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < width; i += 512) {
            u32 order = order_of(x[i]);
            if (shift < 24 && order >> (shift + 8) != prefix >> (shift + 8)) continue;
            u32 digit = order >> shift & 255;
            atomicAdd(&counts[digit], 1ull);
            if (!by_count) atomicAdd(&sums[digit], weight_of(x[i], top, inverse_temperature));
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int digit = 255;
            const u64 *held = by_count ? counts : sums;
            // What is asked for is there, so that the search ends at a digit that occurs.
            while (digit > 0 && held[digit] < goal) goal -= held[digit--];
            while (digit > 0 && counts[digit] == 0) digit--;
            chosen = (u32)digit;
            left = goal;
        }
        __syncthreads();
        prefix |= chosen << shift;
        goal = left;
        __syncthreads();
    }
    last = prefix;
    ties = goal;
    if (!by_count) {
        float value = __uint_as_float(last & 0x80000000u ? last & 0x7fffffffu : ~last);
        u64 each = weight_of(value, top, inverse_temperature);
        ties = each ? (goal + each - 1) / each : 1;
    }
    if (ties == 0) ties = 1;
}

// What all threads before this one hold, and the sum of all.
DEVICE u64 before(u64 own, u64 *shared, u64 &total) {
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u64 sum = own;
    for (int d = 1; d < 32; d <<= 1) {
        u64 other = __shfl_up_sync(~0u, sum, d);
        if (lane >= d) sum += other;
    }
    __syncthreads();
    if (lane == 31) shared[warp] = sum;
    __syncthreads();
    u64 first = 0;
    total = 0;
    for (int i = 0; i < 16; i++) {
        if (i < warp) first += shared[i];
        total += shared[i];
    }
    return first + sum - own;
}

// Draws the next token of each row; -1 where a logit is no number.
extern "C" __global__ void __launch_bounds__(512)
draw(const float *logits, int width, float cap, const Draw *draws, int *out) {
    __shared__ float tops[16];
    __shared__ int places[16];
    __shared__ u64 counts[256], sums[256], shared[16];
    const Row x = {logits + (u64)blockIdx.x * width, cap};
    const Draw how = draws[blockIdx.x];
    float top = -INF;
    int place = 0x7fffffff;
    for (int i = threadIdx.x; i < width; i += 512) {
        float v = x[i];
        if (v != v || v == INF) {
            top = INF;
            place = -1;
        } else if (v > top) {
            top = v;
            place = i;
        }
    }
    for (int round = 0; round < 2; round++) {
        for (int d = 16; d; d >>= 1) {
            float other = __shfl_xor_sync(~0u, top, d);
            int where = __shfl_xor_sync(~0u, place, d);
            if (other > top || (other == top && where < place)) {
                top = other;
                place = where;
            }
        }
        if (round) break;
        if ((threadIdx.x & 31) == 0) {
            tops[threadIdx.x >> 5] = top;
            places[threadIdx.x >> 5] = place;
        }
        __syncthreads();
        top = (threadIdx.x & 31) < 16 ? tops[threadIdx.x & 31] : -INF;
        place = (threadIdx.x & 31) < 16 ? places[threadIdx.x & 31] : 0x7fffffff;
    }
    bool sound = top != -INF && top != INF;
    if (!sound || how.inverse_temperature == 0) {
        if (threadIdx.x == 0) out[blockIdx.x] = sound ? place : -1;
        return;
    }
    u32 last = 0;
    u64 ties = (u64)width, total = 0;
    int per = (width + 511) / 512;
    int from = min((int)threadIdx.x * per, width), to = min(from + per, width);
    bool limited = how.top_k > 0 && how.top_k < (u32)width;
    if (limited)
        select_top(x, width, top, how.inverse_temperature, true, how.top_k, counts, sums, last, ties);
    for (int round = 0; round < 2; round++) {
        // Of tokens with the last logit, those with the lowest numbers are taken.
        u64 equal = 0, all;
        for (int i = from; i < to; i++) equal += order_of(x[i]) == last;
        u64 rank = before(equal, shared, all);
        u64 own = 0, next = rank;
        for (int i = from; i < to; i++) {
            u32 order = order_of(x[i]);
            if (order > last || (order == last && next++ < ties)) own += weight_of(x[i], top, how.inverse_temperature);
        }
        u64 first = before(own, shared, total);
        if (round == 0 && how.top_p < 1) {
            u64 goal = (u64)ceil(how.top_p * (double)total);
            select_top(x, width, top, how.inverse_temperature, false, max(goal, 1ull), counts, sums, last, ties);
            continue;
        }
        u64 target = __umul64hi(how.random, total);
        if (target >= first && target < first + own) {
            u64 held = first;
            next = rank;
            for (int i = from; i < to; i++) {
                u32 order = order_of(x[i]);
                if (!(order > last || (order == last && next++ < ties))) continue;
                held += weight_of(x[i], top, how.inverse_temperature);
                if (target < held) {
                    out[blockIdx.x] = i;
                    break;
                }
            }
        }
        return;
    }
}
#endif // BASE
