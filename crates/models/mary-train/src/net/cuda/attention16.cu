// Attention over packed texts on the matrix units: bfloat16 products with float32 sums, forward and
// backward, for heads of up to 128 numbers (a multiple of eight). `attention.cu` has the same in
// float32, and the kernels for other heads.
//
// A block of four warps has 64 rows, a warp sixteen of them; rows of the other side come in tiles of 64
// through shared memory, each on its way while the one before is multiplied. Probabilities are not kept: the backward pass computes them again from the
// log-sums, once for the queries' slopes and once for those of keys and values, so that every sum has one
// owner and one order: the same batch gives the same bits each time.

#include "numbers.cuh"
#include "heads.cuh"

// ---------------------------------------------------------------- the matrix units

#ifndef EMULATED
DEVICE u32 shared_address(const bf16 *p) {
    u32 at;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(at) : "l"(p));
    return at;
}
// Four 8 × 8 tiles; thread i gives the address of row i % 8 of tile i / 8.
DEVICE void load_tiles(u32 (&d)[4], const bf16 *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(shared_address(row))
                 : "memory");
}
// The same, each tile transposed.
DEVICE void load_turned(u32 (&d)[4], const bf16 *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(shared_address(row))
                 : "memory");
}
// d (16 × 8) += a (16 × 16) · b (16 × 8).
DEVICE void multiply_tiles(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// Sixteen bytes on their way to shared memory, zeros where there is nothing to fetch; `arrive` waits for all
// that this thread has sent for.
DEVICE void fetch(bf16 *to, const bf16 *from, bool in) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(in ? 16 : 0)
                 : "memory");
}
DEVICE void arrive() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#endif

#define LANE (threadIdx.x % 32)
#define WARP (threadIdx.x / 32)
// A thread has rows ROW and ROW + 8 of its warp's sixteen, and of every eight columns COLUMN and the next.
#define ROW (LANE / 4)
#define COLUMN (LANE % 4 * 2)

// Rows in shared memory are eight numbers longer than a head, so that the eight rows of a tile lie in
// different banks.
template <int W> struct Tile {
    static const int STEP = W + 8, SIZE = 64 * (W + 8);
};

template <int W> DEVICE void load_rows(bf16 *to, const bf16 *from, u64 step, int rows, int width) {
#pragma unroll 2
    for (int i = threadIdx.x; i < 64 * W / 8; i += 128) {
        int r = i / (W / 8), c = i % (W / 8) * 8;
        bool in = r < rows && c < width;
        fetch(to + r * Tile<W>::STEP + c, in ? from + r * step + c : from, in);
    }
}

// sums = sixteen rows of x times 64 rows of y.
template <int W> DEVICE void rows_by_rows(const bf16 *x, const bf16 *y, float (&sums)[8][4]) {
    const int STEP = Tile<W>::STEP;
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) sums[n][i] = 0;
    const bf16 *left = x + (LANE % 16) * STEP + LANE / 16 * 8;
    const bf16 *right = y + (LANE % 8 + LANE / 16 * 8) * STEP + LANE / 8 % 2 * 8;
#pragma unroll
    for (int c = 0; c < W; c += 16) {
        u32 a[4];
        load_tiles(a, left + c);
#pragma unroll
        for (int n = 0; n < 4; n++) {
            u32 b[4];
            load_tiles(b, right + n * 16 * STEP + c);
            multiply_tiles(sums[2 * n], a, b[0], b[1]);
            multiply_tiles(sums[2 * n + 1], a, b[2], b[3]);
        }
    }
}

// sums (16 × W) += p (16 × 64, as `rows_by_rows` left it) times 64 rows of x.
template <int W> DEVICE void rows_by_columns(const float (&p)[8][4], const bf16 *x, float (&sums)[W / 8][4]) {
    const int STEP = Tile<W>::STEP;
    const bf16 *right = x + (LANE % 16) * STEP + LANE / 16 * 8;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        u32 a[4] = {pair(p[2 * k][0], p[2 * k][1]), pair(p[2 * k][2], p[2 * k][3]),
                    pair(p[2 * k + 1][0], p[2 * k + 1][1]), pair(p[2 * k + 1][2], p[2 * k + 1][3])};
#pragma unroll
        for (int n = 0; n < W / 16; n++) {
            u32 b[4];
            load_turned(b, right + k * 16 * STEP + n * 16);
            multiply_tiles(sums[2 * n], a, b[0], b[1]);
            multiply_tiles(sums[2 * n + 1], a, b[2], b[3]);
        }
    }
}

// Sums and maxima over the four threads of a row.
DEVICE float row_sum4(float x) {
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}
DEVICE float row_max4(float x) {
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

template <int W> DEVICE void clear(float (&sums)[W / 8][4]) {
#pragma unroll
    for (int n = 0; n < W / 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) sums[n][i] = 0;
}

// Writes a warp's rows ROW (half 0) and ROW + 8 (half 1), each times a factor.
template <int W> DEVICE void store_row(const float (&sums)[W / 8][4], int half, float factor, int width, bf16 *to) {
#pragma unroll
    for (int n = 0; n < W / 8; n++) {
        int c = 8 * n + COLUMN;
        if (c < width) *(u32 *)(to + c) = pair(sums[n][2 * half] * factor, sums[n][2 * half + 1] * factor);
    }
}

#define TWO_LOG 1.44269504f

// ---------------------------------------------------------------- forward

template <int W>
DEVICE void attend_units(const bf16 *qkv, Heads heads, const int *tiles, int tokens, float scale, bf16 *out,
                         float *log_sums) {
    SHARED_AT_LAUNCH;
    const int STEP = Tile<W>::STEP;
    bf16 *q = (bf16 *)shared, *k = q + Tile<W>::SIZE, *v = k + Tile<W>::SIZE;
    Task t = task_of(tiles);
    int h = blockIdx.y, row = t.first + WARP * 16 + ROW;
    const bf16 *joint = qkv + (u64)t.start * heads.row;
    load_rows<W>(q, joint + (u64)t.first * heads.row + QUERY(h), heads.row, t.length - t.first, heads.width);
    float sums[W / 8][4], top[2] = {-INF, -INF}, total[2] = {0, 0}, power = scale * TWO_LOG;
    clear<W>(sums);
    load_rows<W>(k, joint + KEY(h), heads.row, t.length, heads.width);
    for (int k0 = 0; k0 <= t.first; k0 += 64) {
        const bf16 *from = joint + (u64)k0 * heads.row;
        arrive();
        __syncthreads();
        load_rows<W>(v, from + VALUE(h), heads.row, t.length - k0, heads.width);
        float s[8][4];
        rows_by_rows<W>(q + WARP * 16 * STEP, k, s);
        if (k0 == t.first) {
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    if (k0 + 8 * n + COLUMN + i % 2 > row + i / 2 * 8) s[n][i] = -INF;
        }
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float high = -INF;
#pragma unroll
            for (int n = 0; n < 8; n++) high = fmaxf(high, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
            high = fmaxf(top[half], row_max4(high));
            float fade = exp2f((top[half] - high) * power), sum = 0;
            top[half] = high;
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int i = 2 * half; i < 2 * half + 2; i++) {
                    s[n][i] = exp2f((s[n][i] - high) * power);
                    sum += s[n][i];
                }
            total[half] = total[half] * fade + sum;
#pragma unroll
            for (int n = 0; n < W / 8; n++) {
                sums[n][2 * half] *= fade;
                sums[n][2 * half + 1] *= fade;
            }
        }
        arrive();
        __syncthreads();
        if (k0 < t.first)
            load_rows<W>(k, from + 64 * (u64)heads.row + KEY(h), heads.row, t.length - k0 - 64, heads.width);
        rows_by_columns<W>(s, v, sums);
    }
    int across = heads.heads * heads.width;
    for (int half = 0; half < 2; half++) {
        float all = row_sum4(total[half]);
        int i = row + 8 * half;
        if (i >= t.length) continue;
        store_row<W>(sums, half, 1.0f / all, heads.width, out + (u64)(t.start + i) * across + h * heads.width);
        if (COLUMN == 0) log_sums[(u64)h * tokens + t.start + i] = top[half] * scale + logf(all);
    }
}

// ---------------------------------------------------------------- backward

template <int W>
DEVICE void attend_units_back_q(const bf16 *qkv, Heads heads, const int *tiles, int tokens, float scale,
                                const bf16 *dout, const float *log_sums, const float *dots, bf16 *dqkv) {
    SHARED_AT_LAUNCH;
    const int STEP = Tile<W>::STEP;
    bf16 *q = (bf16 *)shared, *g = q + Tile<W>::SIZE, *k = g + Tile<W>::SIZE, *v = k + Tile<W>::SIZE;
    Task t = task_of(tiles);
    int h = blockIdx.y, across = heads.heads * heads.width, row = t.first + WARP * 16 + ROW;
    const bf16 *joint = qkv + (u64)t.start * heads.row;
    u64 first = t.start + t.first;
    load_rows<W>(q, joint + (u64)t.first * heads.row + QUERY(h), heads.row, t.length - t.first, heads.width);
    load_rows<W>(g, dout + first * across + h * heads.width, across, t.length - t.first, heads.width);
    float sums[W / 8][4], log_sum[2], dot[2], power = scale * TWO_LOG;
    clear<W>(sums);
    for (int half = 0; half < 2; half++) {
        bool in = row + 8 * half < t.length;
        u64 at = (u64)h * tokens + t.start + row + 8 * half;
        log_sum[half] = in ? log_sums[at] * TWO_LOG : 0;
        dot[half] = in ? dots[at] : 0;
    }
    for (int k0 = 0; k0 <= t.first; k0 += 64) {
        __syncthreads();
        const bf16 *from = joint + (u64)k0 * heads.row;
        load_rows<W>(k, from + KEY(h), heads.row, t.length - k0, heads.width);
        arrive();
        __syncthreads();
        load_rows<W>(v, from + VALUE(h), heads.row, t.length - k0, heads.width);
        float s[8][4], d[8][4];
        rows_by_rows<W>(q + WARP * 16 * STEP, k, s);
        arrive();
        __syncthreads();
        rows_by_rows<W>(g + WARP * 16 * STEP, v, d);
        bool edge = k0 == t.first;
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                bool seen = !edge || k0 + 8 * n + COLUMN + i % 2 <= row + i / 2 * 8;
                float p = seen ? exp2f(s[n][i] * power - log_sum[i / 2]) : 0.0f;
                s[n][i] = scale * p * (d[n][i] - dot[i / 2]);
            }
        rows_by_columns<W>(s, k, sums);
    }
    for (int half = 0; half < 2; half++) {
        int i = row + 8 * half;
        if (i < t.length)
            store_row<W>(sums, half, 1.0f, heads.width, dqkv + (u64)(t.start + i) * heads.row + QUERY(h));
    }
}

// Slopes of keys and values: for each key head, over the queries that see the tile, of every query head
// that shares it. Rows of the products are keys, columns are queries.
template <int W>
DEVICE void attend_units_back_kv(const bf16 *qkv, Heads heads, const int *tiles, int tokens, float scale,
                                 const bf16 *dout, const float *log_sums, const float *dots, bf16 *dqkv) {
    SHARED_AT_LAUNCH;
    const int STEP = Tile<W>::STEP;
    bf16 *k = (bf16 *)shared, *v = k + Tile<W>::SIZE, *q = v + Tile<W>::SIZE, *g = q + Tile<W>::SIZE;
    float *log_sum = (float *)(g + Tile<W>::SIZE), *dot = log_sum + 64;
    Task t = task_of(tiles);
    int across = heads.heads * heads.width, h0 = blockIdx.y * heads.group, row = t.first + WARP * 16 + ROW;
    const bf16 *joint = qkv + (u64)t.start * heads.row;
    const bf16 *keys = joint + (u64)t.first * heads.row;
    load_rows<W>(k, keys + KEY(h0), heads.row, t.length - t.first, heads.width);
    load_rows<W>(v, keys + VALUE(h0), heads.row, t.length - t.first, heads.width);
    float dk[W / 8][4], dv[W / 8][4], power = scale * TWO_LOG;
    clear<W>(dk);
    clear<W>(dv);
    for (int h = h0; h < h0 + heads.group; h++) {
        for (int q0 = t.first; q0 < t.length; q0 += 64) {
            __syncthreads();
            u64 from = t.start + q0;
            load_rows<W>(q, joint + (u64)q0 * heads.row + QUERY(h), heads.row, t.length - q0, heads.width);
            if (threadIdx.x < 64) {
                bool in = q0 + (int)threadIdx.x < t.length;
                log_sum[threadIdx.x] = in ? log_sums[(u64)h * tokens + from + threadIdx.x] * TWO_LOG : 0;
                dot[threadIdx.x] = in ? dots[(u64)h * tokens + from + threadIdx.x] : 0;
            }
            arrive();
            __syncthreads();
            load_rows<W>(g, dout + from * across + h * heads.width, across, t.length - q0, heads.width);
            float s[8][4], d[8][4];
            rows_by_rows<W>(k + WARP * 16 * STEP, q, s);
            bool edge = q0 == t.first || q0 + 64 > t.length;
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    int c = 8 * n + COLUMN + i % 2;
                    bool seen = !edge || (q0 + c >= row + i / 2 * 8 && q0 + c < t.length);
                    s[n][i] = seen ? exp2f(s[n][i] * power - log_sum[c]) : 0.0f;
                }
            arrive();
            __syncthreads();
            rows_by_columns<W>(s, g, dv);
            rows_by_rows<W>(v + WARP * 16 * STEP, g, d);
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int i = 0; i < 4; i++) s[n][i] *= scale * (d[n][i] - dot[8 * n + COLUMN + i % 2]);
            rows_by_columns<W>(s, q, dk);
        }
    }
    for (int half = 0; half < 2; half++) {
        int j = row + 8 * half;
        if (j >= t.length) continue;
        bf16 *to = dqkv + (u64)(t.start + j) * heads.row;
        store_row<W>(dk, half, 1.0f, heads.width, to + KEY(h0));
        store_row<W>(dv, half, 1.0f, heads.width, to + VALUE(h0));
    }
}

#define UNITS(W)                                                                                             \
    KERNEL __launch_bounds__(128) attend_units_##W(const bf16 *qkv, Heads heads, const int *tiles, int tokens, \
                                                   float scale, bf16 *out, float *log_sums) {                \
        attend_units<W>(qkv, heads, tiles, tokens, scale, out, log_sums);                                    \
    }                                                                                                        \
    KERNEL __launch_bounds__(128)                                                                            \
        attend_units_back_q_##W(const bf16 *qkv, Heads heads, const int *tiles, int tokens, float scale,     \
                                const bf16 *dout, const float *log_sums, const float *dots, bf16 *dqkv) {    \
        attend_units_back_q<W>(qkv, heads, tiles, tokens, scale, dout, log_sums, dots, dqkv);                \
    }                                                                                                        \
    KERNEL __launch_bounds__(128)                                                                            \
        attend_units_back_kv_##W(const bf16 *qkv, Heads heads, const int *tiles, int tokens, float scale,    \
                                 const bf16 *dout, const float *log_sums, const float *dots, bf16 *dqkv) {   \
        attend_units_back_kv<W>(qkv, heads, tiles, tokens, scale, dout, log_sums, dots, dqkv);               \
    }
UNITS(32)
UNITS(64)
UNITS(128)
