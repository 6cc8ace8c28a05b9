/* What a careful C programmer would write by hand: PA-I with an L1 radius and only the largest
   share of the weights kept, on slots. It computes what Headwater's FLLS-I computes.

   A weight is scale * v. Scaling back to the radius changes scale alone; a min-heap over the
   non-zero |v| gives the smallest at once; ties go to the older slot. Weight, register (round first
   learned, round last learned, times) and place in the heap lie side by side. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN UINT32_MAX
#define TINY 1e-300          /* stored values below this count as 0 */
#define SMALLEST_SCALE 1e-100 /* below this the scale goes into the stored values */
#define FRESH_AFTER 4096     /* steps after which the norm is summed afresh, or d if that is more */

enum { KEEP_ALL, SCALE_ONLY, BY_HEAP, BY_SELECTION };

typedef struct {
    double v;
    uint64_t first, last;
    uint32_t times, place; /* place in the heap */
} Slot;

typedef struct {
    double key; /* |v| > 0 */
    uint32_t slot;
} Entry;

typedef struct {
    uint32_t slot;
    double value;
} Feature;

typedef struct {
    int sparsity;
    double C, radius, share;
    double scale, sum, compensation; /* of |v|, by Neumaier */
    uint64_t steps, learned;
    Slot *slots;
    size_t known, room;
    Entry *heap;
    size_t held, heap_room;
    uint32_t *fresh; /* slots that a step made non-zero */
    size_t fresh_room;
    double *sizes; /* a copy to select from */
    size_t sizes_room;
} Model;

static void *grown(void *old, size_t *room, size_t wanted, size_t size) {
    if (wanted <= *room) return old;
    while (*room < wanted) *room = *room ? 2 * *room : 64;
    void *larger = realloc(old, *room * size);
    if (!larger) abort();
    return larger;
}

static void model_start(Model *m, int sparsity, double C, double radius, double share) {
    memset(m, 0, sizeof *m);
    m->sparsity = sparsity;
    m->C = C;
    m->radius = radius;
    m->share = share;
    m->scale = 1.0;
}

static void model_end(Model *m) {
    free(m->slots);
    free(m->heap);
    free(m->fresh);
    free(m->sizes);
}

/* The slot of a feature never met. */
static inline uint32_t model_add(Model *m) {
    m->slots = grown(m->slots, &m->room, m->known + 1, sizeof(Slot));
    m->slots[m->known] = (Slot){.first = m->learned + 1, .place = UNKNOWN};
    return (uint32_t)m->known++;
}

static inline void norm_add(Model *m, double x) {
    double total = m->sum + x;
    m->compensation += fabs(m->sum) >= fabs(x) ? (m->sum - total) + x : (x - total) + m->sum;
    m->sum = total;
}

/* The heap. */

static inline int goes_before(Entry a, Entry b) {
    return a.key < b.key || (a.key == b.key && a.slot > b.slot);
}

static inline void put(Model *m, size_t place, Entry entry) {
    m->heap[place] = entry;
    m->slots[entry.slot].place = (uint32_t)place;
}

static inline void sift_up(Model *m, size_t place, Entry entry) {
    while (place > 0) {
        size_t parent = (place - 1) / 2;
        if (!goes_before(entry, m->heap[parent])) break;
        put(m, place, m->heap[parent]);
        place = parent;
    }
    put(m, place, entry);
}

static inline void sift_down(Model *m, size_t place, Entry entry) {
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= m->held) break;
        if (child + 1 < m->held && goes_before(m->heap[child + 1], m->heap[child])) child++;
        if (!goes_before(m->heap[child], entry)) break;
        put(m, place, m->heap[child]);
        place = child;
    }
    put(m, place, entry);
}

static inline void heap_push(Model *m, Entry entry) {
    m->heap = grown(m->heap, &m->heap_room, m->held + 1, sizeof(Entry));
    sift_up(m, m->held++, entry);
}

static inline void heap_take_out(Model *m, uint32_t place) {
    Entry out = m->heap[place], moved = m->heap[--m->held];
    m->slots[out.slot].place = UNKNOWN;
    if (place == m->held) return;
    if (goes_before(moved, out)) sift_up(m, place, moved);
    else sift_down(m, place, moved);
}

static inline void heap_change(Model *m, uint32_t slot, double key) {
    uint32_t place = m->slots[slot].place;
    if (key == 0.0) heap_take_out(m, place);
    else if (key < m->heap[place].key) sift_up(m, place, (Entry){key, slot});
    else sift_down(m, place, (Entry){key, slot});
}

static inline void let_go(Model *m, uint32_t slot) {
    norm_add(m, -fabs(m->slots[slot].v));
    m->slots[slot].v = 0.0;
}

/* What a step made non-zero is among the largest or goes at once. */
static void keep_by_heap(Model *m, size_t kept, size_t fresh) {
    for (size_t i = 0; i < fresh; i++) {
        Entry entry = {fabs(m->slots[m->fresh[i]].v), m->fresh[i]};
        if (m->held < kept) {
            heap_push(m, entry);
        } else if (goes_before(entry, m->heap[0])) {
            let_go(m, entry.slot);
        } else {
            uint32_t out = m->heap[0].slot;
            m->slots[out].place = UNKNOWN;
            let_go(m, out);
            sift_down(m, 0, entry);
        }
    }
}

/* The k-th largest of n numbers, by quickselect; reorders them. */
static double select_largest(double *x, size_t n, size_t k) {
    size_t low = 0, high = n - 1, wanted = k - 1;
    while (low < high) {
        double a = x[low], b = x[(low + high) / 2], c = x[high];
        double pivot = a > b ? (b > c ? b : (a > c ? c : a)) : (a > c ? a : (b > c ? c : b));
        size_t i = low, j = high;
        for (;;) {
            while (x[i] > pivot) i++;
            while (x[j] < pivot) j--;
            if (i >= j) break;
            double held = x[i];
            x[i++] = x[j];
            x[j--] = held;
        }
        if (x[j] < pivot) j--; /* everything up to j is >= pivot */
        if (wanted <= j) high = j;
        else low = j + 1;
    }
    return x[wanted];
}

/* Look at all weights after every step. */
static void keep_by_selection(Model *m, size_t kept) {
    if (kept >= m->known) return;
    m->sizes = grown(m->sizes, &m->sizes_room, m->known, sizeof(double));
    for (size_t i = 0; i < m->known; i++) m->sizes[i] = fabs(m->slots[i].v);
    double cut = select_largest(m->sizes, m->known, kept);
    size_t above = 0;
    for (size_t i = 0; i < m->known; i++) above += fabs(m->slots[i].v) > cut;
    size_t equal = kept - above; /* so many of the oldest at the cut stay */
    for (size_t i = 0; i < m->known; i++) {
        double size = fabs(m->slots[i].v);
        if (size > cut || size == 0.0) continue;
        if (size == cut && equal > 0) equal--;
        else let_go(m, (uint32_t)i);
    }
}

static void fold_scale(Model *m) {
    for (size_t i = 0; i < m->known; i++) {
        m->slots[i].v *= m->scale;
        if (fabs(m->slots[i].v) < TINY) m->slots[i].v = 0.0;
    }
    if (m->sparsity == BY_HEAP) {
        size_t held = 0;
        for (size_t i = 0; i < m->held; i++) {
            Entry entry = {fabs(m->slots[m->heap[i].slot].v), m->heap[i].slot};
            m->slots[entry.slot].place = UNKNOWN;
            if (entry.key > 0.0) m->heap[held++] = entry;
        }
        m->held = held;
        for (size_t i = 0; i < held; i++) m->slots[m->heap[i].slot].place = (uint32_t)i;
        for (size_t i = held / 2; i-- > 0;) sift_down(m, i, m->heap[i]);
    }
    m->sum *= m->scale;
    m->compensation *= m->scale;
    m->scale = 1.0;
}

/* Scale back to the radius, then let go. */
static void sparsify(Model *m, size_t fresh) {
    double size = m->scale * (m->sum + m->compensation);
    if (size > m->radius) m->scale *= m->radius / size;
    size_t kept = (size_t)floor(m->share * (double)m->known + 1e-9);
    if (kept < 1) kept = 1;
    if (m->sparsity == BY_HEAP) keep_by_heap(m, kept, fresh);
    if (m->sparsity == BY_SELECTION) keep_by_selection(m, kept);
    if (m->scale < SMALLEST_SCALE) fold_scale(m);
    if (++m->steps >= (m->known > FRESH_AFTER ? m->known : FRESH_AFTER)) {
        m->sum = m->compensation = 0.0;
        for (size_t i = 0; i < m->known; i++) norm_add(m, fabs(m->slots[i].v));
        m->steps = 0;
    }
}

/* Learn an event whose features all have slots; margin and squared norm are known. */
static inline void model_learn(
    Model *m, const Feature *features, size_t n, double margin, double squared_norm, int positive) {
    double y = positive ? 1.0 : -1.0, loss = 1.0 - y * margin;
    uint64_t round = ++m->learned;
    if (loss <= 0.0 || squared_norm == 0.0) {
        for (size_t i = 0; i < n; i++) {
            Slot *slot = &m->slots[features[i].slot];
            slot->last = round;
            slot->times++;
        }
        return;
    }
    double length = loss / squared_norm;
    double per_value = y * (length < m->C ? length : m->C) / m->scale;
    if (m->sparsity == KEEP_ALL) {
        for (size_t i = 0; i < n; i++) {
            Slot *slot = &m->slots[features[i].slot];
            slot->v += per_value * features[i].value;
            slot->last = round;
            slot->times++;
        }
        return;
    }
    size_t fresh = 0;
    m->fresh = grown(m->fresh, &m->fresh_room, n, sizeof(uint32_t));
    for (size_t i = 0; i < n; i++) {
        uint32_t number = features[i].slot;
        Slot *slot = &m->slots[number];
        slot->last = round;
        slot->times++;
        double old = slot->v, new = old + per_value * features[i].value;
        if (fabs(new) < TINY) new = 0.0;
        if (new == old) continue;
        slot->v = new;
        norm_add(m, fabs(new) - fabs(old));
        if (m->sparsity == BY_HEAP) {
            if (old == 0.0) m->fresh[fresh++] = number;
            else heap_change(m, number, fabs(new));
        }
    }
    sparsify(m, fresh);
}
