/* Spring by its equations, one after the other: arrays by column, no names, nothing clever. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 200, REPLAY = 20, FIRST_QUESTION = 10 };

typedef struct {
    double n, mean, var;
} Track;

typedef struct {
    double n, mean, squares, runs, first, last, weight, loading;
} Column;

typedef struct {
    int32_t *columns;
    double *z;
    int64_t length;
    double f[3], y, alpha;
} Stored;

typedef struct {
    Column *columns;
    Track energy, factor;
    double omega[3], counts[2];
    Stored store[MEMORY];
    int oldest, stored, cursor;
} Spring;

static double least(double x, double y) { return x < y ? x : y; }
static double most(double x, double y) { return x > y ? x : y; }
static double clip(double x, double reach) { return least(most(x, -reach), reach); }
static double sigma(double u) { return 1.0 / (1.0 + exp(-u)); }

static void track(Track *t, double x, double slowest) {
    t->n += 1.0;
    double h = most(1.0 / t->n, slowest), delta = x - t->mean;
    t->mean += h * delta;
    t->var += h * (delta * (x - t->mean) - t->var);
}

static double standardised(const Track *t, double x, double guard) {
    return clip((x - t->mean) / sqrt(t->var + guard), 3.0);
}

static double regularity(const Column *c) {
    if (c->n == 1.0) return 0.0;
    double share = least(1.0, 2.0 * c->runs / (c->n - 1.0));
    return share * share * share * share;
}

/* u, and whether there is one */
static int score(const Spring *s, const int32_t *columns, const double *z, int64_t length,
                 double *u) {
    double along = 0.0, norm = 0.0;
    for (int64_t j = 0; j < length; j++) {
        const Column *c = &s->columns[columns[j]];
        double lambda = c->loading * c->n / (c->n + 10.0) * regularity(c);
        along += lambda * z[j];
        norm += lambda * lambda;
    }
    *u = norm > 1e-30 ? along / sqrt(norm) : 1.0;
    return norm > 1e-30;
}

static void step(Spring *s, Stored *e) {
    double q = 0.0, Q = 0.0;
    for (int64_t j = 0; j < e->length; j++) {
        q += s->columns[e->columns[j]].weight * e->z[j];
        Q += e->z[j] * e->z[j];
    }
    for (int k = 0; k < 3; k++) {
        q += s->omega[k] * e->f[k];
        Q += e->f[k] * e->f[k];
    }
    if (Q == 0.0) return;
    double C = 0.5 * (s->counts[0] + s->counts[1] + 2.0) / (s->counts[e->y > 0.0] + 1.0);
    double beta = e->y * q - Q * e->alpha, u = -beta / (1.0 + Q * C / 4.0);
    for (int i = 0; i < 20; i++) {
        double p = sigma(u), move = (u + Q * C * p + beta) / (1.0 + Q * C * p * (1.0 - p));
        u -= move;
        if (fabs(move) < 1e-6) break;
    }
    double alpha = C * sigma(u), change = (alpha - e->alpha) * e->y;
    e->alpha = alpha;
    for (int64_t j = 0; j < e->length; j++) s->columns[e->columns[j]].weight += change * e->z[j];
    for (int k = 0; k < 3; k++) s->omega[k] += change * e->f[k];
}

static void answer(Spring *s, const int32_t *columns, const double *z, int64_t length,
                   const double *f, double y) {
    s->counts[y > 0.0] += 1.0;
    int place = s->stored;
    if (s->stored < MEMORY) {
        s->stored++;
    } else {
        place = s->oldest;
        s->oldest = (s->oldest + 1) % MEMORY;
        s->cursor = s->cursor > 0 ? s->cursor - 1 : 0;
    }
    Stored *new = &s->store[place];
    new->columns = realloc(new->columns, (length + 1) * sizeof *columns);
    new->z = realloc(new->z, (length + 1) * sizeof *z);
    memcpy(new->columns, columns, length * sizeof *columns);
    memcpy(new->z, z, length * sizeof *z);
    memcpy(new->f, f, sizeof new->f);
    new->length = length;
    new->y = y;
    new->alpha = 0.0;
    step(s, new);
    for (int turn = 0; turn < REPLAY; turn++) {
        s->cursor = s->cursor + 1 < s->stored ? s->cursor + 1 : 0;
        Stored *e = &s->store[(s->oldest + s->cursor) % MEMORY];
        if (e != new) {
            double u, D = 0.0, now = 0.0;
            for (int64_t j = 0; j < e->length; j++)
                D += regularity(&s->columns[e->columns[j]]) * e->z[j] * e->z[j];
            if (score(s, e->columns, e->z, e->length, &u))
                now = 0.5 * D * standardised(&s->factor, u, 1e-12);
            s->omega[0] += e->alpha * e->y * (now - e->f[0]);
            e->f[0] = now;
        }
        step(s, e);
    }
}

/* The margins and which events were asked about; `coins` holds a number in [0, 1) an event. */
void spring_run(size_t columns, size_t events, const int64_t *starts, const int32_t *indices,
                const double *values, const uint8_t *labels, double rate, const double *coins,
                double *margins, uint8_t *asked) {
    Spring *s = calloc(1, sizeof *s);
    s->columns = calloc(columns, sizeof *s->columns);
    for (size_t i = 0; i < columns; i++) s->columns[i].last = -2.0;
    int64_t longest = 0;
    for (size_t t = 0; t < events; t++)
        if (starts[t + 1] - starts[t] > longest) longest = starts[t + 1] - starts[t];
    double *z = malloc((longest + 1) * sizeof *z);
    double H = 0.0, G = 0.0, g = 0.0, b = 0.0, questions = 0.0, learned = 0.0;
    for (size_t event = 0; event < events; event++) {
        const int32_t *column = indices + starts[event];
        const double *x = values + starts[event];
        int64_t length = starts[event + 1] - starts[event];
        double t = (double)event;
        /* 1: observe */
        for (int64_t j = 0; j < length; j++) {
            Column *c = &s->columns[column[j]];
            double value = x[j];
            if (c->n > 0.0 && c->last == t - 1.0) c->runs += 1.0;
            if (c->n >= 10.0 && c->squares > 0.0) {
                double reach = 10.0 * sqrt(c->squares / c->n);
                value = least(most(value, c->mean - reach), c->mean + reach);
            }
            if (c->n == 0.0) c->first = t;
            double delta = value - c->mean;
            c->n += 1.0;
            c->mean += delta / c->n;
            c->squares += delta * (value - c->mean);
            c->last = t;
            double rest = 1.0 - regularity(c), k = rest * rest;
            if (value != 0.0 && k > 0.0) {
                H += k;
                G += (log(fabs(value)) - G) * k / H;
            }
        }
        /* 2: view */
        double T = 0.0, regular = 0.0, A = 0.0, shared = exp(G);
        for (int64_t j = 0; j < length; j++) {
            const Column *c = &s->columns[column[j]];
            double a = regularity(c), centre = a * c->mean, off = c->mean - centre;
            double var = c->squares / c->n + off * off;
            z[j] = 0.0;
            if (var > 1e-24 * c->mean * c->mean) {
                if (a < 1.0 && H > 0.0) {
                    double dev = sqrt(var), size = least(10.0 * dev, most(dev / 10.0, shared));
                    var += (1.0 - a) * (1.0 - a) * (size * size - var);
                }
                double rarity = log(1.0 + most(1.0, (t + 1.0 - c->first) / c->n));
                z[j] = clip((x[j] - centre) / sqrt(var), 3.0) * rarity;
            }
            T += z[j] * z[j];
            regular += a * z[j] * z[j];
            A += a;
        }
        double D = T == 0.0 || A < 1.0 ? 0.0 : regular / T, norm = sqrt(T);
        if (T > 0.0)
            for (int64_t j = 0; j < length; j++) z[j] /= norm;
        /* 3 and 4: energy and factor */
        double f[3] = {0.0, 0.0, 0.3}, u;
        if (D > 0.0) {
            double l = log(regular / A);
            track(&s->energy, l, 0.0);
            f[1] = 0.3 * D * standardised(&s->energy, l, 1e-6);
        }
        if (score(s, column, z, length, &u)) {
            track(&s->factor, u, 0.005);
            f[0] = 0.5 * D * standardised(&s->factor, u, 1e-12);
        }
        /* 5: margin */
        double q = s->omega[0] * f[0] + s->omega[1] * f[1] + s->omega[2] * f[2];
        for (int64_t j = 0; j < length; j++) {
            Column *c = &s->columns[column[j]];
            q += c->weight * z[j];
            if (T > 0.0) c->loading += (u * z[j] - c->loading) * least(1.0, 3.0 / (c->n + 2.0));
        }
        margins[event] = q;
        /* 6: ask? */
        double size = fabs(q), due = rate * (t + 1.0);
        g += (size - g) * most(1.0 / (t + 1.0), 0.005);
        int want;
        if (learned == 0.0) {
            want = questions < 3.0 && T > 0.0 && event + 1 >= FIRST_QUESTION;
        } else {
            double chance = g == 0.0 ? rate : 0.05 * rate;
            want = size < 1.5 * rate * g * exp(b) || coins[event] < chance;
            b = clip(b + (rate - want) / sqrt(1.0 + questions), 8.0);
        }
        asked[event] = want && questions < due + 2.0 * sqrt(due) + 3.0;
        if (asked[event]) {
            questions += 1.0;
            learned += 1.0;
            answer(s, column, z, length, f, labels[event] ? 1.0 : -1.0);
        }
    }
    for (int i = 0; i < MEMORY; i++) {
        free(s->store[i].columns);
        free(s->store[i].z);
    }
    free(s->columns);
    free(s);
    free(z);
}
