/* The same learner as a C extension of Python, with the same two calls on dicts:

       decision = learner.decide(event)      # event: {str: float}
       learner.answer(decision, label)       # label: bool; now or later

   A decision keeps the event's names, values and slots. Names are found in a table of its own, by
   the very object where it is the same, else by hash and text. Every label is asked for. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#include "model.h"

typedef struct {
    PyObject *name; /* NULL: free */
    Py_hash_t hash;
    uint32_t slot;
} Place;

typedef struct {
    PyObject_HEAD
    Model model;
    Place *places;
    size_t mask; /* of the number of places, a power of two */
    Feature *features;
    size_t room;
} Learner;

typedef struct {
    PyObject *name;
    double value;
    uint32_t slot;
} Kept;

typedef struct {
    PyObject_VAR_HEAD
    double margin, squared_norm;
    uint64_t round; /* rounds learned when it was made */
    Py_ssize_t count;
    char prediction, asked, answered;
    Kept kept[];
} Decision;

static PyTypeObject DecisionType, LearnerType;

/* Names. */

static inline int same_text(PyObject *a, PyObject *b) {
    Py_ssize_t length = PyUnicode_GET_LENGTH(a);
    int kind = PyUnicode_KIND(a);
    return length == PyUnicode_GET_LENGTH(b) && kind == (int)PyUnicode_KIND(b) &&
           memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), (size_t)(length * kind)) == 0;
}

static inline Place *find(const Learner *l, PyObject *name, Py_hash_t hash) {
    size_t at = (size_t)hash & l->mask;
    for (;; at = (at + 1) & l->mask) {
        Place *place = &l->places[at];
        if (!place->name || place->name == name) return place;
        if (place->hash == hash && same_text(place->name, name)) return place;
    }
}

static void insert(Learner *l, PyObject *name, uint32_t slot) {
    if (2 * l->model.known > l->mask) {
        size_t old_mask = l->mask;
        Place *old = l->places;
        l->mask = 2 * (old_mask + 1) - 1;
        l->places = calloc(l->mask + 1, sizeof(Place));
        if (!l->places) abort();
        for (size_t i = 0; i <= old_mask; i++)
            if (old[i].name) *find(l, old[i].name, old[i].hash) = old[i];
        free(old);
    }
    Py_hash_t hash = PyObject_Hash(name);
    *find(l, name, hash) = (Place){Py_NewRef(name), hash, slot};
}

/* Decisions. */

static void decision_dealloc(Decision *d) {
    for (Py_ssize_t i = 0; i < d->count; i++) Py_DECREF(d->kept[i].name);
    PyObject_Free(d);
}

static PyMemberDef decision_members[] = {
    {"margin", T_DOUBLE, offsetof(Decision, margin), READONLY, "w.x"},
    {"prediction", T_BOOL, offsetof(Decision, prediction), READONLY, "whether w.x > 0"},
    {"asked", T_BOOL, offsetof(Decision, asked), READONLY, "always"},
    {NULL},
};

static PyTypeObject DecisionType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dicts.Decision",
    .tp_basicsize = sizeof(Decision),
    .tp_itemsize = sizeof(Kept),
    .tp_dealloc = (destructor)decision_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_members = decision_members,
};

/* The learner. */

static PyObject *decide(Learner *l, PyObject *event) {
    if (!PyDict_CheckExact(event)) return PyErr_Format(PyExc_TypeError, "expected a dict");
    Decision *d = PyObject_NewVar(Decision, &DecisionType, PyDict_GET_SIZE(event));
    if (!d) return NULL;
    d->count = 0;
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(event, &at, &name, &value)) {
        if (!PyUnicode_CheckExact(name) || !PyFloat_CheckExact(value) ||
            !isfinite(PyFloat_AS_DOUBLE(value))) {
            Py_DECREF(d);
            return PyErr_Format(PyExc_TypeError, "expected names that are str, finite floats");
        }
        Place *place = find(l, name, PyObject_Hash(name));
        d->kept[d->count++] = (Kept){
            Py_NewRef(name), PyFloat_AS_DOUBLE(value), place->name ? place->slot : UNKNOWN};
    }
    double sum = 0.0, squared_norm = 0.0;
    for (Py_ssize_t i = 0; i < d->count; i++) {
        Kept kept = d->kept[i];
        squared_norm += kept.value * kept.value;
        if (kept.slot != UNKNOWN) sum += l->model.slots[kept.slot].v * kept.value;
    }
    d->margin = l->model.scale * sum;
    d->squared_norm = squared_norm;
    d->round = l->model.learned;
    d->prediction = d->margin > 0.0;
    d->asked = 1;
    d->answered = 0;
    return (PyObject *)d;
}

static PyObject *answer(Learner *l, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !Py_IS_TYPE(args[0], &DecisionType) || !PyBool_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "expected a decision and a bool");
    Decision *d = (Decision *)args[0];
    if (d->answered) return PyErr_Format(PyExc_ValueError, "answered before");
    d->answered = 1;
    Model *m = &l->model;
    l->features = grown(l->features, &l->room, (size_t)d->count, sizeof(Feature));
    double margin = d->margin, sum = 0.0;
    int later = d->round != m->learned; /* others were learned in between */
    for (Py_ssize_t i = 0; i < d->count; i++) {
        Kept *kept = &d->kept[i];
        if (kept->slot == UNKNOWN && later) {
            Place *place = find(l, kept->name, PyObject_Hash(kept->name));
            if (place->name) kept->slot = place->slot;
        }
        if (kept->slot == UNKNOWN) {
            kept->slot = model_add(m);
            insert(l, kept->name, kept->slot);
        }
        if (later) sum += m->slots[kept->slot].v * kept->value;
        l->features[i] = (Feature){kept->slot, kept->value};
    }
    if (later) margin = m->scale * sum;
    model_learn(m, l->features, (size_t)d->count, margin, d->squared_norm, args[1] == Py_True);
    Py_RETURN_NONE;
}

static PyObject *learner_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(named)) {
    double C, radius, share;
    if (!PyArg_ParseTuple(args, "ddd", &C, &radius, &share)) return NULL;
    Learner *l = (Learner *)type->tp_alloc(type, 0);
    if (!l) return NULL;
    model_start(&l->model, share < 1.0 ? BY_HEAP : SCALE_ONLY, C, radius, share);
    l->mask = 63;
    l->places = calloc(l->mask + 1, sizeof(Place));
    return (PyObject *)l;
}

static void learner_dealloc(Learner *l) {
    for (size_t i = 0; i <= l->mask; i++) Py_XDECREF(l->places[i].name);
    free(l->places);
    free(l->features);
    model_end(&l->model);
    Py_TYPE(l)->tp_free(l);
}

static PyMethodDef learner_methods[] = {
    {"decide", (PyCFunction)decide, METH_O, "Predict an event."},
    {"answer", (PyCFunction)(void (*)(void))answer, METH_FASTCALL, "Learn its label."},
    {NULL},
};

static PyTypeObject LearnerType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dicts.Learner",
    .tp_basicsize = sizeof(Learner),
    .tp_dealloc = (destructor)learner_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = learner_methods,
    .tp_new = learner_new,
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "dicts", .m_size = -1};

PyMODINIT_FUNC PyInit_dicts(void) {
    if (PyType_Ready(&DecisionType) < 0 || PyType_Ready(&LearnerType) < 0) return NULL;
    PyObject *made = PyModule_Create(&module);
    if (!made) return NULL;
    Py_INCREF(&LearnerType);
    PyModule_AddObject(made, "Learner", (PyObject *)&LearnerType);
    return made;
}
