// A GPU that is none: the driver's calls on the processor's memory, and the kernels of training
// compiled as they stand. Every thread of a block is a fibre that runs until it waits for the others,
// so barriers and exchanges within a warp mean what they mean on a GPU. It is slow and computes
// the same, and lets the kernels and all that launches them be tested where there is no gpu.
//
// `kernels.inc` lists the kernels by name; `tests/gpu.rs` writes it and compiles this file.

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>

// ---------------------------------------------------------------- what CUDA has and C++ has not

struct Place {
    unsigned x, y, z;
};
static Place threadIdx, blockIdx, blockDim;

struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

template <class To, class From> static To bits_of(From from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
static float __int_as_float(int x) { return bits_of<float>(x); }
static float __uint_as_float(unsigned x) { return bits_of<float>(x); }
static unsigned __float_as_uint(float x) { return bits_of<unsigned>(x); }
using std::min;

#define __device__
#define __forceinline__ inline
#define __global__
#define __shared__ static
#define __launch_bounds__(threads)
// Memory asked for at launch; one block runs at a time.
static float4 launch_memory[1 << 14];
#define SHARED_AT_LAUNCH float4 *shared = launch_memory

// ---------------------------------------------------------------- threads

static const int MOST = 1024;
static const size_t STACK = 1 << 16;
// A fibre is begun by its context; from then on jumps go to and fro, which costs no call of the system.
static ucontext_t fibres[MOST];
static jmp_buf scheduler, places[MOST];
static char *stacks[MOST];
static bool finished[MOST], stepped[MOST];
static int running, threads;
static void (*body)(void **);
static void **arguments;

struct Barrier {
    int arrived = 0, turn = 0;
};
static Barrier of_block, of_warp[MOST / 32];
static float exchanged[MOST];

static void let_others() {
    if (!_setjmp(places[running])) _longjmp(scheduler, 1);
    threadIdx.x = running;
}
static void wait_at(Barrier &barrier, int size) {
    int turn = barrier.turn;
    if (++barrier.arrived == size) {
        barrier.arrived = 0;
        barrier.turn++;
    }
    while (barrier.turn == turn) let_others();
}
static void __syncthreads() { wait_at(of_block, threads); }
static void __syncwarp() { wait_at(of_warp[running / 32], min(32, threads - running / 32 * 32)); }
static float __shfl_xor_sync(unsigned, float x, int distance) {
    exchanged[running] = x;
    __syncwarp();
    float other = exchanged[running ^ distance];
    __syncwarp();
    return other;
}

// ---------------------------------------------------------------- 16 bits and the matrix units

#define EMULATED
#include "../../src/net/cuda/numbers.cuh"

static u32 nearest_even(float x) {
    u32 bits = __float_as_uint(x);
    if (std::isnan(x)) return 0x7fff;
    return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}
static u32 pair(float low, float high) { return nearest_even(low) | nearest_even(high) << 16; }

// What the threads of a warp hand to each other: the address of a row, the parts of two factors.
static const bf16 *given_rows[MOST];
static u32 given_left[MOST][4], given_right[MOST][2];

static void load_tiles(u32 (&d)[4], const bf16 *row) {
    int lane = running % 32, warp = running - lane;
    given_rows[running] = row;
    __syncwarp();
    for (int i = 0; i < 4; i++) {
        const bf16 *from = given_rows[warp + 8 * i + lane / 4] + lane % 4 * 2;
        d[i] = from[0].bits | (u32)from[1].bits << 16;
    }
    __syncwarp();
}
static void load_turned(u32 (&d)[4], const bf16 *row) {
    int lane = running % 32, warp = running - lane;
    given_rows[running] = row;
    __syncwarp();
    for (int i = 0; i < 4; i++) {
        const bf16 *const *rows = given_rows + warp + 8 * i + lane % 4 * 2;
        d[i] = rows[0][lane / 4].bits | (u32)rows[1][lane / 4].bits << 16;
    }
    __syncwarp();
}
static void fetch(bf16 *to, const bf16 *from, bool in) {
    for (int i = 0; i < 8; i++) to[i].bits = in ? from[i].bits : 0;
}
static void arrive() {}
static float half_of(u32 both, int which) { return __uint_as_float(which ? both & 0xffff0000u : both << 16); }
static void multiply_tiles(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    int lane = running % 32, warp = running - lane;
    std::copy(a, a + 4, given_left[running]);
    given_right[running][0] = b0;
    given_right[running][1] = b1;
    __syncwarp();
    for (int i = 0; i < 4; i++) {
        int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        for (int k = 0; k < 16; k++) {
            u32 left = given_left[warp + row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2];
            u32 right = given_right[warp + column * 4 + k % 8 / 2][k / 8];
            d[i] += half_of(left, k % 2) * half_of(right, k % 2);
        }
    }
    __syncwarp();
}

#include "../../src/net/cuda/train.cu"
#include "../../src/net/cuda/attention.cu"
#include "../../src/net/cuda/attention16.cu"

// ---------------------------------------------------------------- launching

template <class... A, size_t... I>
static void call_with(void (*kernel)(A...), void **words, std::index_sequence<I...>) {
    kernel(*static_cast<A *>(words[I])...);
}
template <class... A> static void call(void (*kernel)(A...), void **words) {
    call_with(kernel, words, std::index_sequence_for<A...>{});
}
typedef void (*Body)(void **);
#define NAMED(name) {#name, [](void **words) { call(name, words); }},
static const std::map<std::string, Body> kernels = {
#include "kernels.inc"
};

// A fibre lives on from block to block: to make one asks the system, which took a quarter of the time.
static void run_thread() {
    for (;;) {
        body(arguments);
        finished[running] = true;
        let_others();
    }
}

static void run_block() {
    of_block = Barrier();
    for (Barrier &warp : of_warp) warp = Barrier();
    for (int t = 0; t < threads; t++) {
        finished[t] = false;
        if (stacks[t]) continue;
        stacks[t] = static_cast<char *>(std::malloc(STACK));
        getcontext(&fibres[t]);
        fibres[t].uc_stack.ss_sp = stacks[t];
        fibres[t].uc_stack.ss_size = STACK;
        fibres[t].uc_link = nullptr;
        makecontext(&fibres[t], run_thread, 0);
    }
    // Kept out of registers: a jump brings back what they held before.
    static bool all;
    do {
        all = true;
        for (running = 0; running < threads; running++) {
            if (finished[running]) continue;
            threadIdx.x = running;
            if (!_setjmp(scheduler)) {
                if (stepped[running]) _longjmp(places[running], 1);
                stepped[running] = true;
                setcontext(&fibres[running]);
            }
            all = all && finished[running];
        }
    } while (!all);
}

typedef void *Handle;
static void *take(size_t bytes) {
    size_t whole = (bytes + 255) / 256 * 256;
    void *memory = std::aligned_alloc(256, whole);
    // Not a number anywhere, so that nothing is read that was not written.
    std::memset(memory, 0xff, whole);
    return memory;
}

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGet(int *device, int) { return *device = 0, 0; }
int cuDeviceGetName(char *name, int room, int) { return std::strncpy(name, "emulated GPU", room), 0; }
int cuDeviceGetAttribute(int *value, int what, int) {
    const int SHARED = 97, MULTIPROCESSORS = 16, MAJOR = 75;
    *value = what == SHARED ? 227 * 1024 : what == MULTIPROCESSORS ? 132 : what == MAJOR ? 9 : 0;
    return 0;
}
int cuDevicePrimaryCtxRetain(Handle *context, int) { return *context = fibres, 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(Handle) { return 0; }
int cuStreamCreate(Handle *stream, unsigned) { return *stream = fibres, 0; }
int cuStreamSynchronize(Handle) { return 0; }
int cuStreamWaitEvent(Handle, Handle, unsigned) { return 0; }
int cuStreamDestroy_v2(Handle) { return 0; }
int cuMemAlloc_v2(uint64_t *at, size_t bytes) { return *at = reinterpret_cast<uint64_t>(take(bytes)), 0; }
int cuMemFree_v2(uint64_t at) { return std::free(reinterpret_cast<void *>(at)), 0; }
int cuMemGetInfo_v2(size_t *free, size_t *total) { return *free = *total = size_t(2) << 30, 0; }
int cuMemHostAlloc(Handle *at, size_t bytes, unsigned) { return *at = take(bytes), 0; }
int cuMemFreeHost(Handle at) { return std::free(at), 0; }
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, Handle) {
    return std::memcpy(reinterpret_cast<void *>(to), from, bytes), 0;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, Handle) {
    return std::memcpy(to, reinterpret_cast<void *>(from), bytes), 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Handle) {
    return std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes), 0;
}
int cuMemcpyPeerAsync(uint64_t to, Handle, uint64_t from, Handle, size_t bytes, Handle stream) {
    return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}
int cuMemsetD8Async(uint64_t at, unsigned char value, size_t bytes, Handle) {
    return std::memset(reinterpret_cast<void *>(at), value, bytes), 0;
}
int cuModuleLoadData(Handle *module, const void *) { return *module = fibres, 0; }
int cuModuleUnload(Handle) { return 0; }
int cuModuleGetFunction(Handle *function, Handle, const char *name) {
    auto found = kernels.find(name);
    if (found == kernels.end()) return 500;
    return *function = reinterpret_cast<Handle>(found->second), 0;
}
int cuFuncSetAttribute(Handle, int, int) { return 0; }
// Asked for by kernels of GPUs that this one does not claim to be.
int cuTensorMapEncodeTiled(void *, int, unsigned, uint64_t, const uint64_t *, const uint64_t *, const unsigned *,
                           const unsigned *, int, int, int, int) {
    return 801;
}
int cuLaunchKernel(Handle function, unsigned across, unsigned down, unsigned, unsigned block, unsigned, unsigned,
                   unsigned shared_bytes, Handle, void **words, void **) {
    if (block > MOST || shared_bytes > sizeof launch_memory) return 1;
    body = reinterpret_cast<Body>(function);
    arguments = words;
    threads = static_cast<int>(block);
    blockDim = {block, 1, 1};
    for (unsigned y = 0; y < down; y++) {
        for (unsigned x = 0; x < across; x++) {
            blockIdx = {x, y, 0};
            run_block();
        }
    }
    return 0;
}
int cuEventCreate(Handle *event, unsigned) { return *event = fibres, 0; }
int cuEventRecord(Handle, Handle) { return 0; }
int cuEventQuery(Handle) { return 0; }
int cuEventSynchronize(Handle) { return 0; }
int cuEventDestroy_v2(Handle) { return 0; }
int cuGetErrorString(int, const char **text) { return *text = "the emulated GPU refused", 0; }
}
