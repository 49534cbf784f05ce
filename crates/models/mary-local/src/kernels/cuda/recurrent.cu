// Layers that carry a state from token to token (Mamba), the twin of `kernels/cpu/recurrent.rs`, which says what a
// segment begins with. A channel is computed by itself, token after token, so that nobody else in the batch changes a
// bit of it; segments that follow others in the same batch are launched after those.
//
// Letters in names are those of the rows: s is float32, b bfloat16, h float16. States and sums are in 32 bits.

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

struct bf16 { u16 bits; };
struct f16 { u16 bits; };

#define DEVICE __device__ __forceinline__
#define NONE __int_as_float(0x7fc00000)

DEVICE float wide(float x) { return x; }
DEVICE float wide(bf16 x) { return __uint_as_float((u32)x.bits << 16); }
DEVICE float wide(f16 x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
DEVICE void put(float *to, float x) { *to = x; }
DEVICE void put(bf16 *to, float x) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to->bits) : "f"(x)); }
DEVICE void put(f16 *to, float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to->bits) : "f"(x)); }

DEVICE float silu(float x) { return x / (1.f + expf(-x)); }

// The sum over a block of 128 threads, known to all of them.
DEVICE float block_sum(float x) {
    __shared__ float room[4];
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
    if ((threadIdx.x & 31) == 0) room[threadIdx.x >> 5] = x;
    __syncthreads();
    return room[0] + room[1] + room[2] + room[3];
}

// What a segment begins with.
enum { NOTHING, ROW, HELD, LOST };

// For every row its segment and where its state goes (among those that others follow, among those that are kept; -1 is
// nowhere); for every segment its first row, its length, what it begins with and which that is; last, the order in
// which segments are computed.
struct Course {
    const int *of, *followed, *kept, *first, *len, *kind, *which, *order;
    DEVICE Course(const int *all, int rows, int segments) {
        of = all;
        followed = of + rows;
        kept = followed + rows;
        first = kept + rows;
        len = first + segments;
        kind = len + segments;
        which = kind + segments;
        order = which + segments;
    }
};

// What entered the convolution so many tokens before a row.
template <class T>
DEVICE float input(const Course &c, const T *x, int stride, int width, int column, int back, const float *windows,
                   int row, int ago) {
    for (;;) {
        int at = c.of[row], before = row - c.first[at];
        if (ago <= before) return wide(x[(u64)(row - ago) * stride + column]);
        ago -= before + 1;
        if (c.kind[at] == NOTHING) return 0.f;
        if (c.kind[at] == HELD) return windows[((u64)c.which[at] * back + back - 1 - ago) * width + column];
        if (c.kind[at] == LOST) return NONE;
        row = c.which[at];
    }
}

template <class T>
DEVICE void convolve(const T *x, int stride, int width, int taps, const float *weights, const float *bias, const int *all,
                     int rows, int segments, const float *windows, float *left, T *out) {
    Course c(all, rows, segments);
    int row = blockIdx.x, column = blockIdx.y * blockDim.x + threadIdx.x, back = taps - 1;
    if (column >= width) return;
    float y = bias[column];
    for (int tap = 0; tap < taps; tap++)
        y = fmaf(weights[(u64)tap * width + column], input(c, x, stride, width, column, back, windows, row, back - tap), y);
    put(out + (u64)row * width + column, silu(y));
    if (c.kept[row] < 0) return;
    for (int i = 0; i < back; i++)
        left[((u64)c.kept[row] * back + i) * width + column] =
            input(c, x, stride, width, column, back, windows, row, back - 1 - i);
}

struct Shape {
    int heads, width, groups, state, lanes, each;
    float low, high;
};

// Numbers of a state that one thread holds.
#define OWN 16

// Some lanes for each channel, some channels for each block, a block for each segment.
template <class T>
DEVICE void scan(Shape of, const T *x, int x_stride, const T *steps, int steps_stride, const T *write, const T *read,
                 int both_stride, const float *step_bias, const float *decay, const float *skip, const int *all, int rows,
                 int segments, int first, const float *held, float *branches, float *left, float *out) {
    Course c(all, rows, segments);
    int at = c.order[first + blockIdx.x], channels = of.heads * of.width;
    int thread = blockIdx.y * blockDim.x + threadIdx.x, lane = thread % of.lanes;
    // Threads beyond the last channel repeat it, since all of a warp take part in sums, and write nothing.
    bool there = thread / of.lanes < channels;
    int channel = there ? thread / of.lanes : channels - 1;
    int head = channel / of.width, group = head / (of.heads / of.groups) * of.state;
    int kind = c.kind[at];
    const float *start = kind == HELD ? held + ((u64)c.which[at] * channels + channel) * of.state
                       : kind == ROW ? branches + ((u64)c.followed[c.which[at]] * channels + channel) * of.state : 0;
    float s[OWN], forget[OWN];
#pragma unroll
    for (int i = 0; i < OWN; i++) {
        int n = lane + i * of.lanes;
        bool own = n < of.state;
        s[i] = !own || kind == NOTHING ? 0.f : start ? start[n] : NONE;
        forget[i] = !own ? 0.f : decay[of.each ? head * of.state + n : head];
    }
    float bias = step_bias[head], past = skip[head];
    for (int row = c.first[at]; row < c.first[at] + c.len[at]; row++) {
        float raw = wide(steps[(u64)row * steps_stride + head]) + bias;
        float step = fminf(fmaxf(raw > 20.f ? raw : log1pf(expf(raw)), of.low), of.high);
        // What is no number stays none: the two above would let it pass.
        if (raw != raw) step = raw;
        float in = wide(x[(u64)row * x_stride + channel]), scaled = step * in, sum = 0.f;
        float together = expf(step * forget[0]);
        const T *w = write + (u64)row * both_stride + group, *r = read + (u64)row * both_stride + group;
#pragma unroll
        for (int i = 0; i < OWN; i++) {
            int n = lane + i * of.lanes;
            if (n >= of.state) break;
            s[i] = fmaf(s[i], of.each ? expf(step * forget[i]) : together, scaled * wide(w[n]));
            sum = fmaf(s[i], wide(r[n]), sum);
        }
        for (int d = of.lanes / 2; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
        if (!there) continue;
        if (lane == 0) out[(u64)row * channels + channel] = fmaf(past, in, sum);
        float *places[2] = {branches, left};
        int which[2] = {c.followed[row], c.kept[row]};
        for (int place = 0; place < 2; place++) {
            if (which[place] < 0) continue;
            float *to = places[place] + ((u64)which[place] * channels + channel) * of.state;
#pragma unroll
            for (int i = 0; i < OWN; i++)
                if (lane + i * of.lanes < of.state) to[lane + i * of.lanes] = s[i];
        }
    }
}

// Gates what was read, and norms it group by group where there are weights for that.
template <class T>
DEVICE void finish(const float *x, const T *gate, int stride, const float *weight, int width, float eps, T *out) {
    u64 at = ((u64)blockIdx.x * gridDim.y + blockIdx.y) * width;
    gate += (u64)blockIdx.x * stride + (u64)blockIdx.y * width;
    float squares = 0.f, scale = 1.f;
    if (weight) {
        for (int i = threadIdx.x; i < width; i += blockDim.x) {
            float y = x[at + i] * silu(wide(gate[i]));
            squares = fmaf(y, y, squares);
        }
        scale = rsqrtf(block_sum(squares) / width + eps);
    }
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float y = x[at + i] * silu(wide(gate[i]));
        put(out + at + i, weight ? y * scale * weight[blockIdx.y * width + i] : y);
    }
}

// A norm without weights, in place.
template <class T>
DEVICE void even(T *x, int width, float eps) {
    x += ((u64)blockIdx.x * gridDim.y + blockIdx.y) * width;
    float squares = 0.f;
    for (int i = threadIdx.x; i < width; i += blockDim.x) squares = fmaf(wide(x[i]), wide(x[i]), squares);
    float scale = rsqrtf(block_sum(squares) / width + eps);
    for (int i = threadIdx.x; i < width; i += blockDim.x) put(x + i, wide(x[i]) * scale);
}

#define KERNELS(T, N)                                                                                                  \
    extern "C" __global__ void __launch_bounds__(128)                                                                  \
        convolve_##N(const T *x, int stride, int width, int taps, const float *weights, const float *bias,             \
                     const int *all, int rows, int segments, const float *windows, float *left, T *out) {              \
        convolve(x, stride, width, taps, weights, bias, all, rows, segments, windows, left, out);                      \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(128)                                                                  \
        scan_##N(Shape of, const T *x, int x_stride, const T *steps, int steps_stride, const T *write, const T *read,  \
                 int both_stride, const float *step_bias, const float *decay, const float *skip, const int *all,       \
                 int rows, int segments, int first, const float *held, float *branches, float *left, float *out) {     \
        scan(of, x, x_stride, steps, steps_stride, write, read, both_stride, step_bias, decay, skip, all, rows,        \
             segments, first, held, branches, left, out);                                                              \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(128)                                                                  \
        finish_##N(const float *x, const T *gate, int stride, const float *weight, int width, float eps, T *out) {     \
        finish(x, gate, stride, weight, width, eps, out);                                                              \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(128) even_##N(T *x, int width, float eps) { even(x, width, eps); }
KERNELS(float, s)
KERNELS(bf16, b)
KERNELS(f16, h)
