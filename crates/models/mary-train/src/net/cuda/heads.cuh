// What the two files of attention share: where heads lie and which rows a block of threads has.
#ifndef HEADS
#define HEADS

// Memory whose size is said at launch; `tests/emulator` has its own.
#ifndef SHARED_AT_LAUNCH
#define SHARED_AT_LAUNCH extern __shared__ float4 shared[]
#endif

// Where queries, keys and values lie in a joint row; `group` query heads share a key head.
struct Heads {
    int heads, group, width, row;
    int q_step, k_base, k_step, v_base, v_step;
};
#define QUERY(h) ((h) * heads.q_step)
#define KEY(h) (heads.k_base + (h) / heads.group * heads.k_step)
#define VALUE(h) (heads.v_base + (h) / heads.group * heads.v_step)

// What a block is to do: rows first .. of a segment, and a head.
struct Task {
    int start, length, first;
};
DEVICE Task task_of(const int *tiles) {
    Task t = {tiles[3 * blockIdx.x], tiles[3 * blockIdx.x + 1], tiles[3 * blockIdx.x + 2]};
    return t;
}

#endif
