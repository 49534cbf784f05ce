// The kernels that grow and tune models on a GPU; attention has files of its own. The residual stream, sums
// and what is trained are float32; what enters products is float32 too, or bfloat16 (names that end in _b).
// `tools/compile_cuda_kernels.py` turns this file into the PTX text that is embedded in the program.
// Every kernel has a twin on the processor (`net/kernels.rs`, `net/linear.rs`), and `tests/gpu.rs` and
// `examples/gpu.rs` hold the two against each other.
//
// Every sum is taken in an order that does not depend on how the GPU schedules its blocks: no atomic additions. The
// same batch gives the same bits each time.

#include "numbers.cuh"

// Sums and maxima over a block of whole warps; every thread gets them. `room` holds 32 numbers.
DEVICE float block_sum(float x, float *room) {
    x = warp_sum(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = x;
    __syncthreads();
    float total = 0;
    for (int i = 0; i < (int)blockDim.x / 32; i++) total += room[i];
    return total;
}
DEVICE float block_max(float x, float *room) {
    x = warp_max(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = x;
    __syncthreads();
    float top = room[0];
    for (int i = 1; i < (int)blockDim.x / 32; i++) top = fmaxf(top, room[i]);
    return top;
}

// ---------------------------------------------------------------- rows

// The vector of every token.
template <class T> DEVICE void embed_row(const T *table, const int *tokens, int width, float *out) {
    const T *from = table + (u64)tokens[blockIdx.x] * width;
    float *to = out + (u64)blockIdx.x * width;
    for (int c = threadIdx.x; c < width; c += blockDim.x) to[c] = wide(from[c]);
}
KERNEL embed(const float *table, const int *tokens, int width, float *out) {
    embed_row(table, tokens, width, out);
}
KERNEL embed_b(const bf16 *table, const int *tokens, int width, float *out) {
    embed_row(table, tokens, width, out);
}

// Adds the slopes of every place of a token to the token's row. `order` lists places token by token;
// those of token which[u] are order[starts[u]] .. order[starts[u + 1]]. 32 columns, 8 lanes of rows.
KERNEL embed_back(const float *slope, const int *order, const int *starts, const int *which, int width,
                  float *table) {
    __shared__ float room[8][32];
    int lane = threadIdx.x / 32, column = blockIdx.y * 32 + threadIdx.x % 32;
    int begin = starts[blockIdx.x], end = starts[blockIdx.x + 1];
    float sum = 0;
    if (column < width) {
        for (int i = begin + lane; i < end; i += 8) sum += slope[(u64)order[i] * width + column];
    }
    room[lane][threadIdx.x % 32] = sum;
    __syncthreads();
    if (lane == 0 && column < width) {
        for (int l = 1; l < 8; l++) sum += room[l][threadIdx.x];
        table[(u64)which[blockIdx.x] * width + column] += sum;
    }
}

template <class T> DEVICE void copy_row(const T *x, int width, T *y) {
    for (int c = threadIdx.x; c < width; c += blockDim.x) y[c] = x[c];
}
KERNEL gather_rows(const float *from, const int *rows, int width, float *to) {
    copy_row(from + (u64)rows[blockIdx.x] * width, width, to + (u64)blockIdx.x * width);
}
KERNEL gather_rows_b(const bf16 *from, const int *rows, int width, bf16 *to) {
    copy_row(from + (u64)rows[blockIdx.x] * width, width, to + (u64)blockIdx.x * width);
}
KERNEL scatter_rows(const float *from, const int *rows, int width, float *to) {
    copy_row(from + (u64)blockIdx.x * width, width, to + (u64)rows[blockIdx.x] * width);
}
KERNEL scatter_rows_b(const bf16 *from, const int *rows, int width, bf16 *to) {
    copy_row(from + (u64)blockIdx.x * width, width, to + (u64)rows[blockIdx.x] * width);
}

// Layer or root-mean-square norm of every row; keeps its mean and 1 / deviation.
template <class T>
DEVICE void norm_row(const float *x, const float *weight, const float *bias, int width, int centred, float eps,
                     T *y, float *moments) {
    __shared__ float room[32];
    const float *row = x + (u64)blockIdx.x * width;
    T *to = y + (u64)blockIdx.x * width;
    float mean = 0;
    if (centred) {
        float sum = 0;
        for (int c = threadIdx.x; c < width; c += blockDim.x) sum += row[c];
        mean = block_sum(sum, room) / width;
    }
    float squares = 0;
    for (int c = threadIdx.x; c < width; c += blockDim.x) squares += (row[c] - mean) * (row[c] - mean);
    float inverse = 1.0f / sqrtf(block_sum(squares, room) / width + eps);
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        float value = (row[c] - mean) * inverse * weight[c];
        to[c] = narrow<T>(bias ? value + bias[c] : value);
    }
    if (threadIdx.x == 0) {
        moments[2 * (u64)blockIdx.x] = mean;
        moments[2 * (u64)blockIdx.x + 1] = inverse;
    }
}
KERNEL norm_rows(const float *x, const float *weight, const float *bias, int width, int centred, float eps,
                 float *y, float *moments) {
    norm_row(x, weight, bias, width, centred, eps, y, moments);
}
KERNEL norm_rows_b(const float *x, const float *weight, const float *bias, int width, int centred, float eps,
                   bf16 *y, float *moments) {
    norm_row(x, weight, bias, width, centred, eps, y, moments);
}

// dx = base + the norm's slope; base may be nothing. `copy` is dx again as products take it, where that is
// another type.
template <class T>
DEVICE void norm_row_back(const float *x, const float *moments, const float *weight, const T *dy, int width,
                          int centred, const float *base, float *dx, T *copy) {
    __shared__ float room[32];
    u64 at = (u64)blockIdx.x * width;
    float mean = moments[2 * (u64)blockIdx.x], inverse = moments[2 * (u64)blockIdx.x + 1];
    float along = 0, level = 0;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        float slope = wide(dy[at + c]) * weight[c];
        along += slope * (x[at + c] - mean);
        level += slope;
    }
    along = block_sum(along, room) * inverse / width;
    level = centred ? block_sum(level, room) / width : 0;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        float unit = (x[at + c] - mean) * inverse;
        float slope = inverse * (wide(dy[at + c]) * weight[c] - level - unit * along);
        slope = base ? base[at + c] + slope : slope;
        dx[at + c] = slope;
        if (copy) copy[at + c] = narrow<T>(slope);
    }
}
KERNEL norm_rows_back(const float *x, const float *moments, const float *weight, const float *dy, int width,
                      int centred, const float *base, float *dx, float *copy) {
    norm_row_back(x, moments, weight, dy, width, centred, base, dx, copy);
}
KERNEL norm_rows_back_b(const float *x, const float *moments, const float *weight, const bf16 *dy, int width,
                        int centred, const float *base, float *dx, bf16 *copy) {
    norm_row_back(x, moments, weight, dy, width, centred, base, dx, copy);
}

// Column sums of slabs of rows: of dy, and of dy times the normalised x where there is one. A block
// takes 32 columns of one slab in 8 lanes.
KERNEL column_sums(const float *dy, int step, const float *x, const float *moments, int rows, int width,
                   int slab, float *sums, float *products) {
    __shared__ float room[2][8][32];
    int lane = threadIdx.x / 32, column = blockIdx.x * 32 + threadIdx.x % 32;
    int begin = blockIdx.y * slab, end = min(begin + slab, rows);
    float sum = 0, product = 0;
    if (column < width) {
        for (int r = begin + lane; r < end; r += 8) {
            float slope = dy[(u64)r * step + column];
            sum += slope;
            if (x) product += slope * (x[(u64)r * width + column] - moments[2 * (u64)r]) * moments[2 * (u64)r + 1];
        }
    }
    room[0][lane][threadIdx.x % 32] = sum;
    room[1][lane][threadIdx.x % 32] = product;
    __syncthreads();
    if (lane == 0 && column < width) {
        for (int l = 1; l < 8; l++) {
            sum += room[0][l][threadIdx.x];
            product += room[1][l][threadIdx.x];
        }
        u64 at = (u64)blockIdx.y * width + column;
        if (sums) sums[at] = sum;
        if (x) products[at] = product;
    }
}

// Adds the slabs' sums to the gradient, in order.
KERNEL add_slabs(const float *slabs, int count, int width, float *out) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= width) return;
    float sum = 0;
    for (int s = 0; s < count; s++) sum += slabs[(u64)s * width + column];
    out[column] += sum;
}

// ---------------------------------------------------------------- one number at a time

// Every thread has sixteen bytes of each row.
#define FIRST(T) (((u64)blockIdx.x * blockDim.x + threadIdx.x) * Run<T>::N)

// Exact GELU, or by tanh; x becomes its derivative.
template <class T, bool EXACT> DEVICE void gelu_run(T *x, T *y, u64 count) {
    const float c = 0.7978846f, a = 0.044715f;
    u64 first = FIRST(T);
    if (first >= count) return;
    Run<T> in = load_run(x, first, count), out;
    for (int i = 0; i < Run<T>::N; i++) {
        float v = in.x[i];
        if (EXACT) {
            float cumulative = 0.5f * erfcf(-v * 0.70710678f);
            out.x[i] = v * cumulative;
            in.x[i] = cumulative + v * expf(-0.5f * v * v) * 0.3989423f;
        } else {
            float t = tanhf(c * (v + a * v * v * v));
            out.x[i] = 0.5f * v * (1.0f + t);
            in.x[i] = 0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * c * (1.0f + 3.0f * a * v * v);
        }
    }
    store_run(y, first, count, out);
    store_run(x, first, count, in);
}
KERNEL gelu(float *x, float *y, u64 count) { gelu_run<float, true>(x, y, count); }
KERNEL gelu_b(bf16 *x, bf16 *y, u64 count) { gelu_run<bf16, true>(x, y, count); }
KERNEL gelu_tanh(float *x, float *y, u64 count) { gelu_run<float, false>(x, y, count); }
KERNEL gelu_tanh_b(bf16 *x, bf16 *y, u64 count) { gelu_run<bf16, false>(x, y, count); }

// silu(gate) · up; gate and up become the two derivatives.
template <class T> DEVICE void gated_run(T *gate, T *up, T *y, u64 count) {
    u64 first = FIRST(T);
    if (first >= count) return;
    Run<T> gates = load_run(gate, first, count), ups = load_run(up, first, count), out;
    for (int i = 0; i < Run<T>::N; i++) {
        float g = gates.x[i], u = ups.x[i], s = 1.0f / (1.0f + expf(-g)), silu = g * s;
        out.x[i] = silu * u;
        gates.x[i] = u * s * (1.0f + g * (1.0f - s));
        ups.x[i] = silu;
    }
    store_run(y, first, count, out);
    store_run(gate, first, count, gates);
    store_run(up, first, count, ups);
}
KERNEL gated_silu(float *gate, float *up, float *y, u64 count) { gated_run(gate, up, y, count); }
KERNEL gated_silu_b(bf16 *gate, bf16 *up, bf16 *y, u64 count) { gated_run(gate, up, y, count); }

template <class T> DEVICE void multiply_run(const T *a, const T *b, T *out, u64 count) {
    u64 first = FIRST(T);
    if (first >= count) return;
    Run<T> left = load_run(a, first, count), right = load_run(b, first, count);
    for (int i = 0; i < Run<T>::N; i++) left.x[i] *= right.x[i];
    store_run(out, first, count, left);
}
KERNEL multiply(const float *a, const float *b, float *out, u64 count) { multiply_run(a, b, out, count); }
KERNEL multiply_b(const bf16 *a, const bf16 *b, bf16 *out, u64 count) { multiply_run(a, b, out, count); }

// Numbers rounded to bfloat16.
KERNEL shorten(const float *x, bf16 *y, u64 count) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = narrow<bf16>(x[i]);
}

// 32 random bits of a place (splitmix64).
DEVICE u64 noise(u64 seed, u64 place) {
    u64 z = seed + place * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (z ^ (z >> 31)) >> 32;
}

// The numbers of every row that are not dropped, scaled up. A pack of texts has its own seed and counts
// its own rows, so that the noise does not depend on what is computed beside it.
template <class T>
DEVICE void drop_row(const T *x, const int *packs, const int *places, const u64 *seeds, u64 salt, u64 limit,
                     float keep, int width, int add, T *out) {
    u64 seed = seeds[packs[blockIdx.x]] ^ salt, first = (u64)places[blockIdx.x] * width;
    u64 at = (u64)blockIdx.x * width;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        float value = noise(seed, first + c) < limit ? 0.0f : wide(x[at + c]) * keep;
        out[at + c] = narrow<T>(add ? wide(out[at + c]) + value : value);
    }
}
KERNEL drop(const float *x, const int *packs, const int *places, const u64 *seeds, u64 salt, u64 limit,
            float keep, int width, int add, float *out) {
    drop_row(x, packs, places, seeds, salt, limit, keep, width, add, out);
}
KERNEL drop_b(const bf16 *x, const int *packs, const int *places, const u64 *seeds, u64 salt, u64 limit,
              float keep, int width, int add, bf16 *out) {
    drop_row(x, packs, places, seeds, salt, limit, keep, width, add, out);
}

// ---------------------------------------------------------------- the loss

// The slope of the loss by the logits, in their place or another; the loss of each row is kept.
template <class T>
DEVICE void cross_entropy_row(const float *logits, int vocabulary, const int *targets, const float *weights,
                              float scale, float *losses, T *slopes) {
    __shared__ float room[32];
    const float *row = logits + (u64)blockIdx.x * vocabulary;
    T *to = slopes + (u64)blockIdx.x * vocabulary;
    int target = targets[blockIdx.x];
    float wanted = row[target];
    float top = -INF, sum = 0;
    for (int c = threadIdx.x; c < vocabulary; c += blockDim.x) {
        float x = row[c];
        if (x > top) {
            sum = sum * expf(top - x) + 1.0f;
            top = x;
        } else {
            sum += expf(x - top);
        }
    }
    float highest = block_max(top, room);
    sum = block_sum(top == -INF ? 0.0f : sum * expf(top - highest), room);
    float factor = scale * weights[blockIdx.x], each = factor / sum;
    for (int c = threadIdx.x; c < vocabulary; c += blockDim.x) {
        float slope = expf(row[c] - highest) * each;
        to[c] = narrow<T>(c == target ? slope - factor : slope);
    }
    if (threadIdx.x == 0) losses[blockIdx.x] = highest + logf(sum) - wanted;
}
KERNEL cross_entropy(float *logits, int vocabulary, const int *targets, const float *weights, float scale,
                     float *losses, float *slopes) {
    cross_entropy_row(logits, vocabulary, targets, weights, scale, losses, slopes);
}
KERNEL cross_entropy_b(float *logits, int vocabulary, const int *targets, const float *weights, float scale,
                       float *losses, bf16 *slopes) {
    cross_entropy_row(logits, vocabulary, targets, weights, scale, losses, slopes);
}

// Log-probability of each row's target, and 1 where no token has a greater logit.
KERNEL answers(const float *logits, int vocabulary, const int *targets, float *out) {
    __shared__ float room[32];
    const float *row = logits + (u64)blockIdx.x * vocabulary;
    float wanted = row[targets[blockIdx.x]], top = -INF, sum = 0;
    for (int c = threadIdx.x; c < vocabulary; c += blockDim.x) top = fmaxf(top, row[c]);
    top = block_max(top, room);
    for (int c = threadIdx.x; c < vocabulary; c += blockDim.x) sum += expf(row[c] - top);
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = wanted - (top + logf(sum));
        out[2 * blockIdx.x + 1] = top <= wanted ? 1.0f : 0.0f;
    }
}

// Sums of doubles over one block of 256 threads.
DEVICE double block_total(double x, double *room) {
    room[threadIdx.x] = x;
    __syncthreads();
    for (int d = blockDim.x / 2; d; d /= 2) {
        if (threadIdx.x < d) room[threadIdx.x] += room[threadIdx.x + d];
        __syncthreads();
    }
    return room[0];
}

// Adds the weighted losses to the total; one block.
KERNEL add_losses(const float *losses, const float *weights, int count, double *total) {
    __shared__ double room[256];
    double sum = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) sum += (double)weights[i] * (double)losses[i];
    sum = block_total(sum, room);
    if (threadIdx.x == 0) *total += sum;
}

// ---------------------------------------------------------------- the step

// The sum of squares of 16384 numbers.
KERNEL squares(const float *x, u64 count, double *parts) {
    __shared__ double room[256];
    u64 first = (u64)blockIdx.x * 16384, end = first + 16384 < count ? first + 16384 : count;
    float sum = 0;
    for (u64 i = first + threadIdx.x; i < end; i += blockDim.x) sum += x[i] * x[i];
    double total = block_total(sum, room);
    if (threadIdx.x == 0) parts[blockIdx.x] = total;
}

// The gradient's norm, and what the gradient is multiplied by so that it is not longer than `clip`.
KERNEL gradient_norm(const double *parts, int count, double clip, double *norm, float *scale) {
    __shared__ double room[256];
    double sum = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) sum += parts[i];
    sum = sqrt(block_total(sum, room));
    if (threadIdx.x == 0) {
        *norm = sum;
        *scale = clip > 0 && sum > clip ? (float)(clip / (sum + 1e-6)) : 1.0f;
    }
}

struct Adam {
    float rate, whole_rate, beta1, beta2, eps, root2;
};
struct Chunk {
    u64 first;
    int count;
    float decay;
};
// AdamW on one chunk of parameters for each block.
KERNEL adam(float *p, const float *g, float *m, float *v, const Chunk *chunks, const float *scale, Adam a) {
    Chunk chunk = chunks[blockIdx.x];
    float keep = 1.0f - a.whole_rate * chunk.decay, factor = *scale;
    for (int i = threadIdx.x; i < chunk.count; i += blockDim.x) {
        u64 at = chunk.first + i;
        float slope = g[at] * factor;
        float first = a.beta1 * m[at] + (1.0f - a.beta1) * slope;
        float second = a.beta2 * v[at] + (1.0f - a.beta2) * slope * slope;
        m[at] = first;
        v[at] = second;
        p[at] = p[at] * keep - a.rate * first / (sqrtf(second) * a.root2 + a.eps);
    }
}

// ---------------------------------------------------------------- products

struct Product {
    int rows, columns, inner;
    int left_step, right_step, step;
    int left_turned, right_turned, add;
    float scale;
};
// out (rows × columns) = scale · left · right (+ bias) (+ from); 64 × 64 numbers a block, 256 threads.
template <class T, class O>
DEVICE void product_tile(const T *left, const T *right, const O *bias, const O *from, O *out, Product p) {
    __shared__ float a[16][68], b[16][68];
    int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
    int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
    float sums[4][4] = {};
    for (int k0 = 0; k0 < p.inner; k0 += 16) {
        for (int i = threadIdx.x; i < 64 * 16; i += 256) {
            int r = p.left_turned ? i % 64 : i / 16, k = p.left_turned ? i / 64 : i % 16;
            bool in = row0 + r < p.rows && k0 + k < p.inner;
            u64 at = p.left_turned ? (u64)(k0 + k) * p.left_step + row0 + r
                                   : (u64)(row0 + r) * p.left_step + k0 + k;
            a[k][r] = in ? wide(left[at]) : 0.0f;
            int c = p.right_turned ? i / 16 : i % 64;
            k = p.right_turned ? i % 16 : i / 64;
            in = column0 + c < p.columns && k0 + k < p.inner;
            at = p.right_turned ? (u64)(column0 + c) * p.right_step + k0 + k
                                : (u64)(k0 + k) * p.right_step + column0 + c;
            b[k][c] = in ? wide(right[at]) : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < 16; k++) {
            float4 x = *(const float4 *)&a[k][ty * 4], y = *(const float4 *)&b[k][tx * 4];
            float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sums[i][j] += xs[i] * ys[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) {
        int r = row0 + ty * 4 + i;
        for (int j = 0; j < 4; j++) {
            int c = column0 + tx * 4 + j;
            if (r >= p.rows || c >= p.columns) continue;
            float value = sums[i][j] * p.scale + (bias ? wide(bias[c]) : 0.0f);
            u64 at = (u64)r * p.step + c;
            out[at] = narrow<O>(p.add ? wide(from[at]) + value : value);
        }
    }
}
KERNEL product(const float *left, const float *right, const float *bias, const float *from, float *out, Product p) {
    product_tile(left, right, bias, from, out, p);
}
KERNEL product_bs(const bf16 *left, const bf16 *right, const float *bias, const float *from, float *out, Product p) {
    product_tile(left, right, bias, from, out, p);
}
KERNEL product_bb(const bf16 *left, const bf16 *right, const bf16 *bias, const bf16 *from, bf16 *out, Product p) {
    product_tile(left, right, bias, from, out, p);
}

// Every number as the sum of three bfloat16s, which go to `parts` places `part_step` apart; `order` says
// which of the three goes where, two bits each. Rows are filled with zeros to `wide`, a multiple of 4.
DEVICE u16 nearest(float x) {
    u32 bits = __float_as_uint(x);
    return (u16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
struct Splitting {
    u64 quads, row_step, part_step;
    int step, width, wide, parts;
    u32 order;
};
KERNEL split(const float *x, Splitting s, u16 *out) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s.quads) return;
    int across = s.wide / 4, c = (int)(i % across) * 4;
    u64 row = i / across;
    const float *from = x + row * s.step + c;
    float rest[4];
    if (c + 3 < s.width && ((u64)from & 15) == 0) {
        float4 v = *(const float4 *)from;
        rest[0] = v.x;
        rest[1] = v.y;
        rest[2] = v.z;
        rest[3] = v.w;
    } else {
        for (int k = 0; k < 4; k++) rest[k] = c + k < s.width ? from[k] : 0.0f;
    }
    u64 three[3];
    for (int part = 0; part < 3; part++) {
        three[part] = 0;
        for (int k = 0; k < 4; k++) {
            u16 bits = nearest(rest[k]);
            three[part] |= (u64)bits << (16 * k);
            rest[k] -= __uint_as_float((u32)bits << 16);
        }
    }
    u16 *to = out + row * s.row_step + c;
    for (int place = 0; place < s.parts; place++) {
        u32 which = s.order >> (2 * place) & 3u;
        *(u64 *)(to + place * s.part_step) = which == 0 ? three[0] : which == 1 ? three[1] : three[2];
    }
}
