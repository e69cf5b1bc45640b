/* The addresses of all entries; this file sees them without their parameters, which differ. */
#include <stdint.h>

#include "entries.h"

typedef void (*any_function)(void);

#define DECLARE(symbol, version, function) void function(void);
ENTRIES(DECLARE)

void list_entries(void (*add)(int, const char *, int, any_function)) {
    int id = 0;
#define ADD(symbol, version, function) add(id++, symbol, version, function);
    ENTRIES(ADD)
}
