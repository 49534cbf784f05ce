// Products on the matrix units of Hopper GPUs (compute capability 9.0), written for them: tiles come by the
// copy engine, and the instruction is `wgmma`. `tools/compile_cuda_kernels.py` turns this file into PTX
// text of its own (target 9.0a); older and newer GPUs multiply with `product` of `kernels.cu`, its twin.
//
// A block has three groups of four warps. The first asks for tiles; the other two take turns: while one
// multiplies, the other writes its product down. Two neighbouring blocks take different rows and the same
// columns, and each fetches half of the weights for both. A sum is taken in the order of its width, whatever
// else is in the batch.
//
// It is embedded as machine code: the assembler takes half a minute for each kernel here, which nobody should
// wait for at a first start, and no other GPU could run it.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

struct bf16 { u16 bits; };
struct f16 { u16 bits; };

#define DEVICE __device__ __forceinline__
#define INF __int_as_float(0x7f800000)

// Two numbers in one register; the first in the low half.
DEVICE u32 pair(float lo, float hi, bf16) {
    u32 y;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(hi), "f"(lo));
    return y;
}
DEVICE u32 pair(float lo, float hi, f16) {
    u32 y;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(hi), "f"(lo));
    return y;
}

// ------------------------------------------------------------- barriers and the copy engine

DEVICE void barrier_init(u32 at, u32 count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(count) : "memory");
}
DEVICE void barrier_expect(u32 at, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}
DEVICE void barrier_wait(u32 at, u32 phase) {
    asm volatile(
        "{\n"
        ".reg .pred there;\n"
        "AGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 there, [%0], %1;\n"
        "@there bra DONE;\n"
        "bra AGAIN;\n"
        "DONE:\n"
        "}\n" ::"r"(at), "r"(phase)
        : "memory");
}
// At a barrier of another block of the cluster.
DEVICE void barrier_arrive(u32 at, u32 block) {
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
        "}\n" ::"r"(at), "r"(block)
        : "memory");
}
DEVICE void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n" ::: "memory");
}
DEVICE u32 cluster_rank() {
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// What the copy engine knows of a matrix; what lies outside of it is read as zeros.
struct alignas(64) Map { u64 words[16]; };

DEVICE void fetch(const Map *map, u32 to, u32 barrier, int column, int row) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(column), "r"(row)
        : "memory");
}
// The same into all blocks of the cluster, at the same places.
DEVICE void fetch_for_all(const Map *map, u32 to, u32 barrier, int column, int row, u16 blocks) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to), "l"(map), "r"(barrier), "r"(column), "r"(row), "h"(blocks)
        : "memory");
}

// ------------------------------------------------------------------------- the matrix units

#define REGISTERS \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
    "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, " \
    "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, " \
    "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, " \
    "%70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, " \
    "%87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, " \
    "%104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, " \
    "%118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define BIND_8(i)                                                                                          \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]),            \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define BIND_32(i) BIND_8(i), BIND_8(i + 8), BIND_8(i + 16), BIND_8(i + 24)
// d += a · bᵀ: 64 rows, 256 columns, sixteen numbers wide, both from shared memory.
#define UNIT(T, NAME)                                                                                      \
    DEVICE void multiply(float (&d)[128], u64 a, u64 b, T) {                                               \
        asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32." NAME "." NAME " {" REGISTERS           \
                     "}, %128, %129, 1, 1, 1, 0, 0;\n"                                                     \
                     : BIND_32(0), BIND_32(32), BIND_32(64), BIND_32(96)                                   \
                     : "l"(a), "l"(b));                                                                    \
    }
UNIT(bf16, "bf16")
UNIT(f16, "f16")

// A tile of rows of 128 bytes, which the copy engine has laid out so that eight rows do not collide.
DEVICE u64 tile_at(u32 at) {
    return (u64)((at & 0x3ffff) >> 4) | (u64)1 << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

// -------------------------------------------------------------------------------- products

struct Product {
    int m, n, k;
    float cap;       // squashes what the head gives; 0: not
    int activation;  // as in `kernels.cu`; for ACTIVATE
};

enum { STORE, ACTIVATE, ACCUMULATE, EXPONENTIALS };

constexpr int BM = 64, BN = 256, BK = 64;  // rows, columns and width of a tile
constexpr int CLUSTER = 2, SHARE = BN / CLUSTER;
constexpr int STAGE = (BM + BN) * BK * 2, STAGES = 5;  // bytes on their way at once, and how often
constexpr int COUNT = BN / 2;  // numbers of a tile that a thread holds

// Tiles are taken in bands of rows, so that both sides stay in the cache.
struct Order {
    int rows, columns;  // tiles; a row is that of a whole cluster
    DEVICE int count() const { return rows * columns; }
    DEVICE void at(int tile, int &row, int &column) const {
        const int BAND = 8;
        int band = tile / (BAND * columns), high = min(BAND, rows - band * BAND);
        int within = tile - band * BAND * columns;
        row = band * BAND + within % high;
        column = within / high;
    }
};

// The product of 64 rows goes to memory by way of a piece of shared memory that each warp has for itself, so
// that a row is written 128 bytes at a time.
constexpr int PIECE = 144;  // bytes of a row there: sixteen more than it holds, against collisions

template <class T> DEVICE void put(u32 at, float x, float y, T) {
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(pair(x, y, T())) : "memory");
}
DEVICE void put(u32 at, float x, float y, float) {
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(x), "f"(y) : "memory");
}
DEVICE uint4 sum(uint4 a, uint4 b) {
    u32 *x = &a.x;
    const u32 *y = &b.x;
    for (int i = 0; i < 4; i++) x[i] = __float_as_uint(__uint_as_float(x[i]) + __uint_as_float(y[i]));
    return a;
}

template <class O, int END>
DEVICE void write(const float (&d)[COUNT], u32 room, const float *bias, O *out, Product s, int m0, int n0) {
    constexpr int EACH = 16 / sizeof(O), HELD = 8 * EACH, BLOCKS = HELD / 8;  // columns in a piece
    int lane = threadIdx.x & 31, g = lane >> 2, c = lane & 3;
    int top = m0 + ((threadIdx.x >> 5) & 3) * 16;
#pragma unroll
    for (int first = 0; first < COUNT / 4; first += BLOCKS) {
        int column = n0 + first * 8;
        if (top >= s.m || column >= s.n) break;
#pragma unroll
        for (int j = 0; j < BLOCKS; j++) {
            const float *x = d + (first + j) * 4;
            float p = 0.f, q = 0.f;
            int n = column + j * 8 + 2 * c;
            if (bias && n < s.n) p = bias[n], q = bias[n + 1];
            u32 at = room + g * PIECE + (j * 8 + 2 * c) * sizeof(O);
            put(at, x[0] + p, x[1] + q, O());
            put(at + 8 * PIECE, x[2] + p, x[3] + q, O());
        }
        __syncwarp();
        uint4 v[4], old[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int row = i * 4 + (lane >> 3), n = column + (lane & 7) * EACH;
            asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(v[i].x), "=r"(v[i].y), "=r"(v[i].z), "=r"(v[i].w)
                         : "r"(room + row * PIECE + (lane & 7) * 16));
            if (END == ACCUMULATE && top + row < s.m && n < s.n)
                old[i] = *(const uint4 *)(out + (u64)(top + row) * s.n + n);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int row = i * 4 + (lane >> 3), n = column + (lane & 7) * EACH;
            if (top + row >= s.m || n >= s.n) continue;
            if (END == ACCUMULATE) v[i] = sum(v[i], old[i]);
            *(uint4 *)(out + (u64)(top + row) * s.n + n) = v[i];
        }
        __syncwarp();
    }
}

constexpr float LOG2_E = 1.4426950408889634f;
DEVICE float two_to(float x) {
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// cap · tanh(x / cap), to about a millionth of the cap: what is rounded to 16 bits elsewhere.
DEVICE float capped(float x, float cap) {
    float t = two_to(-2.f * LOG2_E * fabsf(x) / cap);
    return x != x ? x : copysignf(cap * __fdividef(1.f - t, 1.f + t), x);
}
// The activations of feed-forward layers without a gate, as `act` of `kernels.cu` computes them.
DEVICE float gelu(float v) {
    float x = v * 0.70710678118654752f, a = fabsf(x), t = __fdividef(1.f, 1.f + 0.3275911f * a);
    float p = t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
    return 0.5f * v * (1.f + copysignf(1.f - p * two_to(-LOG2_E * a * a), x));
}
DEVICE float tanh_gelu(float v) {
    float inner = 1.5957691216057308f * (v + 0.044715f * v * v * v);
    return v * (1.f - __fdividef(1.f, two_to(LOG2_E * inner) + 1.f));
}
DEVICE void activate(float (&d)[COUNT], const float *bias, Product s, int n0) {
    int c = threadIdx.x & 3;
    if (bias) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            int n = n0 + (i >> 2) * 8 + 2 * c + (i & 1);
            if (n < s.n) d[i] += bias[n];
        }
    }
    if (s.activation == 0) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) d[i] = gelu(d[i]);
    } else if (s.activation == 1) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) d[i] = tanh_gelu(d[i]);
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; i++) d[i] = d[i] < 0.f ? 0.f : d[i];
    }
}
// Keeps no product: for each row and column tile, the largest number and the sum of exponentials.
DEVICE void squash(float (&d)[COUNT], const float *bias, float2 *out, Product s, int m0, int n0, int tiles) {
    int lane = threadIdx.x & 31, g = lane >> 2, c = lane & 3;
    int top = m0 + ((threadIdx.x >> 5) & 3) * 16;
    float peak[2] = {-INF, -INF}, total[2] = {0.f, 0.f}, level[2];
    auto column = [&](int i) { return n0 + (i >> 2) * 8 + 2 * c + (i & 1); };
    // What most heads lack is asked once for all numbers, not for each.
    if (bias) {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            if (column(i) < s.n) d[i] += bias[column(i)];
    }
    if (s.cap > 0.f) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) d[i] = capped(d[i], s.cap);
    }
    if (n0 + BN > s.n) {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            if (column(i) >= s.n) d[i] = -INF;
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++) peak[(i >> 1) & 1] = fmaxf(peak[(i >> 1) & 1], d[i]);
#pragma unroll
    for (int e = 0; e < 2; e++) {
        peak[e] = fmaxf(peak[e], __shfl_xor_sync(~0u, peak[e], 1));
        peak[e] = fmaxf(peak[e], __shfl_xor_sync(~0u, peak[e], 2));
        level[e] = peak[e] == -INF ? 0.f : peak[e] * LOG2_E;
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        int e = (i >> 1) & 1;
        total[e] += two_to(d[i] * LOG2_E - level[e]);
    }
#pragma unroll
    for (int e = 0; e < 2; e++) {
        total[e] += __shfl_xor_sync(~0u, total[e], 1);
        total[e] += __shfl_xor_sync(~0u, total[e], 2);
        int m = top + g + 8 * e;
        if (c == 0 && m < s.m) out[(u64)m * tiles + n0 / BN] = make_float2(peak[e], total[e]);
    }
}

// C = A · Bᵀ (+ bias): A has m rows of k numbers, B has n rows.
template <class T, class O, int END>
DEVICE void product(const Map *a, const Map *b, const float *bias, O *out, Product s) {
    extern __shared__ u8 shared[];
    u32 base = ((u32)__cvta_generic_to_shared(shared) + 1023) & ~1023u;
    u32 full = base + STAGES * STAGE, empty = full + STAGES * 8, pieces = empty + STAGES * 8;
    u32 rank = cluster_rank();
    int group = threadIdx.x >> 7;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + i * 8, 1);
            barrier_init(empty + i * 8, CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync();
    Order order = {(s.m + BM * CLUSTER - 1) / (BM * CLUSTER), (s.n + BN - 1) / BN};
    int count = order.count(), clusters = gridDim.x / CLUSTER;
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            int slot = 0, phase = 1;
            for (int tile = blockIdx.x / CLUSTER; tile < count; tile += clusters) {
                int row, column;
                order.at(tile, row, column);
                int m0 = (row * CLUSTER + rank) * BM, n0 = column * BN + rank * SHARE;
                for (int k0 = 0; k0 < s.k; k0 += BK) {
                    u32 to = base + slot * STAGE, arrival = full + slot * 8;
                    barrier_wait(empty + slot * 8, phase);
                    barrier_expect(arrival, STAGE);
                    fetch(a, to, arrival, k0, m0);
                    fetch_for_all(b, to + (BM + rank * SHARE) * BK * 2, arrival, k0, n0, (1 << CLUSTER) - 1);
                    if (++slot == STAGES) slot = 0, phase ^= 1;
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        int turn = 0, steps = (s.k + BK - 1) / BK, member = threadIdx.x & 127;
        u32 room = pieces + ((threadIdx.x >> 5) - 4) * 16 * PIECE;
        for (int tile = blockIdx.x / CLUSTER; tile < count; tile += clusters, turn++) {
            if ((turn & 1) != group - 1) continue;
            // A barrier tells even rounds from odd ones, no more: who comes next begins to wait for tiles when the
            // one before has seen all of its own.
            if (turn > 0) asm volatile("bar.sync %0, 256;" ::"r"(group) : "memory");
            // Set here, and only added to below: otherwise the units wait for each other.
            float d[COUNT];
#pragma unroll
            for (int i = 0; i < COUNT; i++) d[i] = 0.f;
            int first = turn * steps, slot = first % STAGES, phase = (first / STAGES) & 1, before = slot;
            for (int step = 0; step < steps; step++) {
                barrier_wait(full + slot * 8, phase);
                u64 x = tile_at(base + slot * STAGE), w = tile_at(base + slot * STAGE + BM * BK * 2);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
                for (int i = 0; i < BK / 16; i++) multiply(d, x + 2 * i, w + 2 * i, T());
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                // The tile before is read: both blocks may fetch into its place.
                if (step > 0 && member < CLUSTER) barrier_arrive(empty + before * 8, member);
                before = slot;
                if (++slot == STAGES) slot = 0, phase ^= 1;
            }
            if (tile + clusters < count) asm volatile("bar.arrive %0, 256;" ::"r"(3 - group) : "memory");
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            if (member < CLUSTER) barrier_arrive(empty + before * 8, member);
            int row, column;
            order.at(tile, row, column);
            int m0 = (row * CLUSTER + rank) * BM, n0 = column * BN;
            if constexpr (END == EXPONENTIALS)
                squash(d, bias, (float2 *)out, s, m0, n0, order.columns);
            else if constexpr (END == ACTIVATE) {
                activate(d, bias, s, n0);
                write<O, END>(d, room, nullptr, out, s, m0, n0);
            } else
                write<O, END>(d, room, bias, out, s, m0, n0);
        }
    }
    // Nobody leaves while others may still write into its memory; a warp is counted once, so it comes as a whole.
    __syncwarp();
    cluster_sync();
}
#define PRODUCT(T, O, NAME, END)                                                                            \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(384, 1)                    \
        hopper_##NAME(const __grid_constant__ Map a, const __grid_constant__ Map b, const float *bias,      \
                      O *out, Product s) {                                                                  \
        product<T, O, END>(&a, &b, bias, out, s);                                                           \
    }
#define PRODUCTS(T, N)                                                                                      \
    PRODUCT(T, T, N##_store_##N, STORE)                                                                     \
    PRODUCT(T, float, N##_store_s, STORE)                                                                   \
    PRODUCT(T, T, N##_activate_##N, ACTIVATE)                                                               \
    PRODUCT(T, float, N##_add_s, ACCUMULATE)                                                                \
    PRODUCT(T, float, N##_exponentials, EXPONENTIALS)
#ifdef PRODUCTS_B
PRODUCTS(bf16, b)
#endif
#ifdef PRODUCTS_H
PRODUCTS(f16, h)
#endif
