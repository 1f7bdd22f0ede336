/* For programs whose calls return their errors. */
#ifndef RETURNED_H
#define RETURNED_H

#include "check.h"

#define OK(call)                                                                  \
    do {                                                                          \
        int code_ = (call);                                                       \
        char text_[MPI_MAX_ERROR_STRING] = "";                                    \
        int length_;                                                              \
        if (code_ != MPI_SUCCESS)                                                 \
            MPI_Error_string(code_, text_, &length_);                             \
        CHECK(code_ == MPI_SUCCESS, "%s to go well, not: %s", #call, text_);      \
    } while (0)

#define FAILS(call, class)                                                        \
    do {                                                                          \
        int code_ = (call);                                                       \
        CHECK(class_of(code_) == (class), "%s to fail with %s, not class %d", #call, \
              #class, class_of(code_));                                           \
    } while (0)

#endif
