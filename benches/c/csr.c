/* The loops over CSR: the bare one, and the one that does what `simulate` does. */

#include "model.h"

/* PA-I and nothing else: a weight a column, no names, no register. */
void bare(size_t events, const int64_t *starts, const int32_t *columns, const double *values,
          const uint8_t *labels, double C, double *weights, double *margins) {
    for (size_t event = 0; event < events; event++) {
        double margin = 0.0, squared_norm = 0.0;
        for (int64_t i = starts[event]; i < starts[event + 1]; i++) {
            margin += weights[columns[i]] * values[i];
            squared_norm += values[i] * values[i];
        }
        margins[event] = margin;
        double y = labels[event] ? 1.0 : -1.0, loss = 1.0 - y * margin;
        if (loss <= 0.0 || squared_norm == 0.0) continue;
        double length = loss / squared_norm;
        double step = y * (length < C ? length : C);
        for (int64_t i = starts[event]; i < starts[event + 1]; i++)
            weights[columns[i]] += step * values[i];
    }
}

typedef struct {
    Model model;
    uint32_t *slot_of; /* by column */
    Feature *features; /* of the event in hand */
    size_t room;
} Learner;

Learner *learner_new(size_t columns, int sparsity, double C, double radius, double share) {
    Learner *l = calloc(1, sizeof *l);
    model_start(&l->model, sparsity, C, radius, share);
    l->slot_of = malloc(columns * sizeof(uint32_t));
    memset(l->slot_of, 0xff, columns * sizeof(uint32_t));
    return l;
}

void learner_free(Learner *l) {
    model_end(&l->model);
    free(l->slot_of);
    free(l->features);
    free(l);
}

void learner_select(Learner *l) { l->model.sparsity = BY_SELECTION; }

size_t learner_known(const Learner *l) { return l->model.known; }

size_t learner_kept(const Learner *l) {
    size_t kept = 0;
    for (size_t i = 0; i < l->model.known; i++) kept += l->model.slots[i].v != 0.0;
    return kept;
}

void learner_run(Learner *l, size_t events, const int64_t *starts, const int32_t *columns,
                 const double *values, const uint8_t *labels, double *margins) {
    Model *m = &l->model;
    for (size_t event = 0; event < events; event++) {
        const int32_t *column = columns + starts[event];
        const double *value = values + starts[event];
        size_t n = (size_t)(starts[event + 1] - starts[event]), new = 0;
        l->features = grown(l->features, &l->room, n, sizeof(Feature));
        Feature *features = l->features;
        for (size_t i = 0; i < n; i++) {
            features[i] = (Feature){l->slot_of[column[i]], value[i]};
            new += features[i].slot == UNKNOWN;
        }
        double sum = 0.0, squared_norm = 0.0;
        for (size_t i = 0; i < n; i++) {
            squared_norm += value[i] * value[i];
            if (features[i].slot != UNKNOWN) sum += m->slots[features[i].slot].v * value[i];
        }
        double margin = m->scale * sum;
        margins[event] = margin;
        for (size_t i = 0; new > 0 && i < n; i++) {
            if (features[i].slot == UNKNOWN) {
                features[i].slot = l->slot_of[column[i]] = model_add(m);
                new--;
            }
        }
        model_learn(m, features, n, margin, squared_norm, labels[event]);
    }
}
