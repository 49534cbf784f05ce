// Attention over packed texts on a GPU, forward and backward, summed in float32: `train.cu` has the rest and
// says how it is compiled, `attention16.cu` the kernels for the matrix units. Its twin on the processor is
// `net/attention.rs`. Probabilities are not kept: the backward pass computes them again from the log-sums,
// once for the queries' gradients and once for those of keys and values, so that every sum has one owner and
// one order. T is the type of what comes in and goes out.

#include "numbers.cuh"
#include "heads.cuh"

// Turns queries and keys by their positions; `back` turns the other way.
template <class T>
DEVICE void rotate_heads(T *qkv, const int *positions, const float *angles, Heads h, int half, int back) {
    T *row = qkv + (u64)blockIdx.x * h.row;
    const float *turn = angles + (u64)positions[blockIdx.x] * 2 * half;
    int keys = h.heads / h.group;
    for (int i = threadIdx.x; i < (h.heads + keys) * half; i += blockDim.x) {
        int head = i / half, c = i % half;
        T *at = row + (head < h.heads ? head * h.q_step : h.k_base + (head - h.heads) * h.k_step) + c;
        float cos = turn[2 * c], sin = back ? -turn[2 * c + 1] : turn[2 * c + 1];
        float a = wide(at[0]), b = wide(at[half]);
        at[0] = narrow<T>(a * cos - b * sin);
        at[half] = narrow<T>(b * cos + a * sin);
    }
}
KERNEL rotate(float *qkv, const int *positions, const float *angles, Heads h, int half, int back) {
    rotate_heads(qkv, positions, angles, h, half, back);
}
// Two neighbours at a time where they lie in one word.
KERNEL rotate_b(bf16 *qkv, const int *positions, const float *angles, Heads h, int half, int back) {
    if ((half | h.width) & 1) return rotate_heads(qkv, positions, angles, h, half, back);
    bf16 *row = qkv + (u64)blockIdx.x * h.row;
    const float4 *turn = (const float4 *)(angles + (u64)positions[blockIdx.x] * 2 * half);
    int keys = h.heads / h.group, across = half / 2;
    for (int i = threadIdx.x; i < (h.heads + keys) * across; i += blockDim.x) {
        int head = i / across, c = i % across;
        bf16 *at = row + (head < h.heads ? head * h.q_step : h.k_base + (head - h.heads) * h.k_step) + 2 * c;
        // Cosine and sine of the first, then of the second.
        float4 by = turn[c];
        float sin = back ? -by.y : by.y, next = back ? -by.w : by.w;
        float a = wide(at[0]), b = wide(at[half]), a2 = wide(at[1]), b2 = wide(at[half + 1]);
        *(u32 *)at = pair(a * by.x - b * sin, a2 * by.z - b2 * next);
        *(u32 *)(at + half) = pair(b * by.x + a * sin, b2 * by.z + a2 * next);
    }
}

// Tiles of B rows of a head of at most W numbers lie in shared memory with rows of W + 4, so that
// neighbouring threads read from different banks. 256 threads stand in 16 rows (ty) of 16 (tx); each
// takes every sixteenth row and column of a tile's product.
#define TY (threadIdx.x / 16)
#define TX (threadIdx.x % 16)

template <int W, int B>
DEVICE void load_tile(float *to, const float *from, u64 step, int rows, int width) {
    if (((step | width) & 3) == 0 && ((u64)from & 15) == 0) {
        for (int i = threadIdx.x; i < B * W / 4; i += 256) {
            int r = i / (W / 4), c = i % (W / 4) * 4;
            float4 value = make_float4(0, 0, 0, 0);
            if (r < rows && c < width) value = *(const float4 *)(from + r * step + c);
            *(float4 *)(to + r * (W + 4) + c) = value;
        }
        return;
    }
    for (int i = threadIdx.x; i < B * W; i += 256) {
        int r = i / W, c = i % W;
        to[r * (W + 4) + c] = r < rows && c < width ? from[r * step + c] : 0.0f;
    }
}

template <int W, int B>
DEVICE void load_tile(float *to, const bf16 *from, u64 step, int rows, int width) {
    for (int i = threadIdx.x; i < B * W; i += 256) {
        int r = i / W, c = i % W;
        to[r * (W + 4) + c] = r < rows && c < width ? wide(from[r * step + c]) : 0.0f;
    }
}

// sums[a][b] = row TY + 16 a of x times row TX + 16 b of y.
template <int W, int B> DEVICE void rows_by_rows(const float *x, const float *y, float (&sums)[B / 16][B / 16]) {
    const int N = B / 16;
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++) sums[a][b] = 0;
#pragma unroll 4
    for (int c = 0; c < W; c += 4) {
        float4 xs[N], ys[N];
#pragma unroll
        for (int a = 0; a < N; a++) xs[a] = *(const float4 *)(x + (TY + 16 * a) * (W + 4) + c);
#pragma unroll
        for (int b = 0; b < N; b++) ys[b] = *(const float4 *)(y + (TX + 16 * b) * (W + 4) + c);
#pragma unroll
        for (int a = 0; a < N; a++)
#pragma unroll
            for (int b = 0; b < N; b++) {
                float s = sums[a][b];
                s += xs[a].x * ys[b].x;
                s += xs[a].y * ys[b].y;
                s += xs[a].z * ys[b].z;
                s += xs[a].w * ys[b].w;
                sums[a][b] = s;
            }
    }
}

// The columns a thread has of a tile W numbers wide: pairs of neighbours where W is 32, else fours.
template <int W> struct Columns {
    static const int COUNT = W / 16, RUN = COUNT < 4 ? COUNT : 4;
    static DEVICE int at(int e) { return (e / RUN) * (16 * RUN) + TX * RUN + e % RUN; }
};

// sums[a][e] += row TY + 16 a of p (B numbers, rows of B + 4) times column at(e) of x.
template <int W, int B>
DEVICE void rows_by_columns(const float *p, const float *x, float (&sums)[B / 16][W / 16]) {
    const int N = B / 16, C = W / 16;
#pragma unroll 2
    for (int k = 0; k < B; k += 4) {
        float ps[N][4];
#pragma unroll
        for (int a = 0; a < N; a++) {
            float4 v = *(const float4 *)(p + (TY + 16 * a) * (B + 4) + k);
            ps[a][0] = v.x;
            ps[a][1] = v.y;
            ps[a][2] = v.z;
            ps[a][3] = v.w;
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float xs[C];
            const float *row = x + (k + i) * (W + 4);
            if (C == 2) {
                float2 v = *(const float2 *)(row + TX * 2);
                xs[0] = v.x;
                xs[C - 1] = v.y;
            } else {
#pragma unroll
                for (int e = 0; e + 3 < C; e += 4) {
                    float4 v = *(const float4 *)(row + Columns<W>::at(e));
                    xs[e] = v.x;
                    xs[e + 1] = v.y;
                    xs[e + 2] = v.z;
                    xs[e + 3] = v.w;
                }
            }
#pragma unroll
            for (int a = 0; a < N; a++)
#pragma unroll
                for (int e = 0; e < C; e++) sums[a][e] += ps[a][i] * xs[e];
        }
    }
}

// Sums and maxima over the sixteen threads of a row.
DEVICE float row_sum(float x) {
    for (int d = 8; d; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
    return x;
}
DEVICE float row_max(float x) {
    for (int d = 8; d; d >>= 1) x = fmaxf(x, __shfl_xor_sync(~0u, x, d));
    return x;
}

template <int W, int B, class T>
DEVICE void attend(const T *qkv, Heads heads, const int *tiles, int tokens, float scale, T *out,
                   float *log_sums) {
    SHARED_AT_LAUNCH;
    const int N = B / 16, C = W / 16;
    float *q = (float *)shared, *k = q + B * (W + 4), *v = k + B * (W + 4), *p = v + B * (W + 4);
    Task t = task_of(tiles);
    int h = blockIdx.y;
    const T *joint = qkv + (u64)t.start * heads.row;
    load_tile<W, B>(q, joint + (u64)t.first * heads.row + QUERY(h), heads.row, t.length - t.first, heads.width);
    float sums[N][C], top[N], total[N];
    for (int a = 0; a < N; a++) {
        top[a] = -INF;
        total[a] = 0;
        for (int e = 0; e < C; e++) sums[a][e] = 0;
    }
    for (int k0 = 0; k0 <= t.first; k0 += B) {
        __syncthreads();
        const T *from = joint + (u64)k0 * heads.row;
        load_tile<W, B>(k, from + KEY(h), heads.row, t.length - k0, heads.width);
        load_tile<W, B>(v, from + VALUE(h), heads.row, t.length - k0, heads.width);
        __syncthreads();
        float s[N][N];
        rows_by_rows<W, B>(q, k, s);
#pragma unroll
        for (int a = 0; a < N; a++) {
            int i = t.first + TY + 16 * a;
            float high = -INF;
#pragma unroll
            for (int b = 0; b < N; b++) {
                int j = k0 + TX + 16 * b;
                s[a][b] = j <= i && j < t.length ? s[a][b] * scale : -INF;
                high = fmaxf(high, s[a][b]);
            }
            high = fmaxf(top[a], row_max(high));
            float fade = expf(top[a] - high), sum = 0;
            top[a] = high;
#pragma unroll
            for (int b = 0; b < N; b++) {
                float e = expf(s[a][b] - high);
                sum += e;
                p[(TY + 16 * a) * (B + 4) + TX + 16 * b] = e;
            }
            total[a] = total[a] * fade + row_sum(sum);
#pragma unroll
            for (int e = 0; e < C; e++) sums[a][e] *= fade;
        }
        __syncwarp();
        rows_by_columns<W, B>(p, v, sums);
        __syncwarp();
    }
    int across = heads.heads * heads.width;
    for (int a = 0; a < N; a++) {
        int i = t.first + TY + 16 * a;
        if (i >= t.length) continue;
        u64 row = t.start + i;
        for (int e = 0; e < C; e++) {
            int c = Columns<W>::at(e);
            if (c < heads.width) out[row * across + h * heads.width + c] = narrow<T>(sums[a][e] / total[a]);
        }
        if (TX == 0) log_sums[(u64)h * tokens + row] = top[a] + logf(total[a]);
    }
}

// The inner product of every head's output with its slope; one warp for each.
template <class T> DEVICE void dots_of(const T *out, const T *dout, Heads heads, int tokens, float *dots) {
    u64 pair = (u64)blockIdx.x * 8 + threadIdx.x / 32;
    u64 row = pair / heads.heads;
    int h = pair % heads.heads;
    float sum = 0;
    if (row < tokens) {
        u64 at = pair * heads.width;
        for (int c = threadIdx.x % 32; c < heads.width; c += 32) sum += wide(out[at + c]) * wide(dout[at + c]);
    }
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
    if (row < tokens && threadIdx.x % 32 == 0) dots[(u64)h * tokens + row] = sum;
}
KERNEL attend_dots(const float *out, const float *dout, Heads heads, int tokens, float *dots) {
    dots_of(out, dout, heads, tokens, dots);
}
KERNEL attend_dots_b(const bf16 *out, const bf16 *dout, Heads heads, int tokens, float *dots) {
    dots_of(out, dout, heads, tokens, dots);
}

template <int W, int B, class T>
DEVICE void attend_back_q(const T *qkv, Heads heads, const int *tiles, int tokens, float scale,
                          const T *dout, const float *log_sums, const float *dots, T *dqkv) {
    SHARED_AT_LAUNCH;
    const int N = B / 16, C = W / 16;
    float *q = (float *)shared, *g = q + B * (W + 4), *k = g + B * (W + 4), *v = k + B * (W + 4);
    float *p = v + B * (W + 4);
    Task t = task_of(tiles);
    int h = blockIdx.y, across = heads.heads * heads.width;
    const T *joint = qkv + (u64)t.start * heads.row;
    u64 first = t.start + t.first;
    load_tile<W, B>(q, joint + (u64)t.first * heads.row + QUERY(h), heads.row, t.length - t.first, heads.width);
    load_tile<W, B>(g, dout + first * across + h * heads.width, across, t.length - t.first, heads.width);
    float sums[N][C], log_sum[N], dot[N];
    for (int a = 0; a < N; a++) {
        bool in = t.first + TY + 16 * a < t.length;
        log_sum[a] = in ? log_sums[(u64)h * tokens + first + TY + 16 * a] : 0;
        dot[a] = in ? dots[(u64)h * tokens + first + TY + 16 * a] : 0;
        for (int e = 0; e < C; e++) sums[a][e] = 0;
    }
    for (int k0 = 0; k0 <= t.first; k0 += B) {
        __syncthreads();
        const T *from = joint + (u64)k0 * heads.row;
        load_tile<W, B>(k, from + KEY(h), heads.row, t.length - k0, heads.width);
        load_tile<W, B>(v, from + VALUE(h), heads.row, t.length - k0, heads.width);
        __syncthreads();
        float s[N][N], d[N][N];
        rows_by_rows<W, B>(q, k, s);
        rows_by_rows<W, B>(g, v, d);
#pragma unroll
        for (int a = 0; a < N; a++) {
            int i = t.first + TY + 16 * a;
#pragma unroll
            for (int b = 0; b < N; b++) {
                int j = k0 + TX + 16 * b;
                float e = j <= i && i < t.length ? expf(s[a][b] * scale - log_sum[a]) : 0.0f;
                p[(TY + 16 * a) * (B + 4) + TX + 16 * b] = scale * e * (d[a][b] - dot[a]);
            }
        }
        __syncwarp();
        rows_by_columns<W, B>(p, k, sums);
        __syncwarp();
    }
    for (int a = 0; a < N; a++) {
        int i = t.first + TY + 16 * a;
        if (i >= t.length) continue;
        for (int e = 0; e < C; e++) {
            int c = Columns<W>::at(e);
            if (c < heads.width) dqkv[(u64)(t.start + i) * heads.row + QUERY(h) + c] = narrow<T>(sums[a][e]);
        }
    }
}

// Slopes of keys and values: for each key head, over the queries that see the tile, of every query head
// that shares it.
template <int W, int B, class T>
DEVICE void attend_back_kv(const T *qkv, Heads heads, const int *tiles, int tokens, float scale,
                           const T *dout, const float *log_sums, const float *dots, T *dqkv) {
    SHARED_AT_LAUNCH;
    const int N = B / 16, C = W / 16;
    float *k = (float *)shared, *v = k + B * (W + 4), *q = v + B * (W + 4), *g = q + B * (W + 4);
    float *p = g + B * (W + 4);
    Task t = task_of(tiles);
    int across = heads.heads * heads.width, h0 = blockIdx.y * heads.group;
    const T *joint = qkv + (u64)t.start * heads.row;
    const T *keys = joint + (u64)t.first * heads.row;
    load_tile<W, B>(k, keys + KEY(h0), heads.row, t.length - t.first, heads.width);
    load_tile<W, B>(v, keys + VALUE(h0), heads.row, t.length - t.first, heads.width);
    float dk[N][C], dv[N][C];
    for (int a = 0; a < N; a++)
        for (int e = 0; e < C; e++) dk[a][e] = dv[a][e] = 0;
    for (int h = h0; h < h0 + heads.group; h++) {
        for (int q0 = t.first; q0 < t.length; q0 += B) {
            __syncthreads();
            u64 row = t.start + q0;
            load_tile<W, B>(q, joint + (u64)q0 * heads.row + QUERY(h), heads.row, t.length - q0, heads.width);
            load_tile<W, B>(g, dout + row * across + h * heads.width, across, t.length - q0, heads.width);
            __syncthreads();
            float s[N][N], d[N][N], log_sum[N], dot[N];
#pragma unroll
            for (int b = 0; b < N; b++) {
                bool in = q0 + TX + 16 * b < t.length;
                log_sum[b] = in ? log_sums[(u64)h * tokens + row + TX + 16 * b] : 0;
                dot[b] = in ? dots[(u64)h * tokens + row + TX + 16 * b] : 0;
            }
            rows_by_rows<W, B>(k, q, s);
#pragma unroll
            for (int a = 0; a < N; a++) {
                int j = t.first + TY + 16 * a;
#pragma unroll
                for (int b = 0; b < N; b++) {
                    int i = q0 + TX + 16 * b;
                    s[a][b] = j <= i && i < t.length ? expf(s[a][b] * scale - log_sum[b]) : 0.0f;
                    p[(TY + 16 * a) * (B + 4) + TX + 16 * b] = s[a][b];
                }
            }
            __syncwarp();
            rows_by_columns<W, B>(p, g, dv);
            rows_by_rows<W, B>(v, g, d);
            __syncwarp();
#pragma unroll
            for (int a = 0; a < N; a++)
#pragma unroll
                for (int b = 0; b < N; b++)
                    p[(TY + 16 * a) * (B + 4) + TX + 16 * b] = scale * s[a][b] * (d[a][b] - dot[b]);
            __syncwarp();
            rows_by_columns<W, B>(p, q, dk);
            __syncwarp();
        }
    }
    for (int a = 0; a < N; a++) {
        int j = t.first + TY + 16 * a;
        if (j >= t.length) continue;
        T *to = dqkv + (u64)(t.start + j) * heads.row;
        for (int e = 0; e < C; e++) {
            int c = Columns<W>::at(e);
            if (c < heads.width) {
                to[KEY(h0) + c] = narrow<T>(dk[a][e]);
                to[VALUE(h0) + c] = narrow<T>(dv[a][e]);
            }
        }
    }
}

#define ATTENTION(NAME, T, W, B)                                                                         \
    KERNEL __launch_bounds__(256) attend_##NAME(const T *qkv, Heads heads, const int *tiles, int tokens,  \
                                                float scale, T *out, float *log_sums) {                  \
        attend<W, B>(qkv, heads, tiles, tokens, scale, out, log_sums);                                   \
    }                                                                                                    \
    KERNEL __launch_bounds__(256)                                                                        \
        attend_back_q_##NAME(const T *qkv, Heads heads, const int *tiles, int tokens, float scale,       \
                             const T *dout, const float *log_sums, const float *dots, T *dqkv) {         \
        attend_back_q<W, B>(qkv, heads, tiles, tokens, scale, dout, log_sums, dots, dqkv);               \
    }                                                                                                    \
    KERNEL __launch_bounds__(256)                                                                        \
        attend_back_kv_##NAME(const T *qkv, Heads heads, const int *tiles, int tokens, float scale,      \
                              const T *dout, const float *log_sums, const float *dots, T *dqkv) {        \
        attend_back_kv<W, B>(qkv, heads, tiles, tokens, scale, dout, log_sums, dots, dqkv);              \
    }
ATTENTION(32, float, 32, 64)
ATTENTION(64, float, 64, 64)
ATTENTION(128, float, 128, 32)
ATTENTION(256, float, 256, 16)
// Heads that the matrix units' kernels do not take.
ATTENTION(b_256, bf16, 256, 16)
