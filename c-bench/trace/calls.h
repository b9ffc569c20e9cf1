/* What is known of each system call's arguments. */
#ifndef CROSSINGS_CALLS_H
#define CROSSINGS_CALLS_H

enum when { ENTRY = 1, EXIT = 2 };
enum what {
    TEXT = 1,      /* a string */
    SIZED,         /* argument `length` is its size */
    RESULT_SIZED,  /* the result is its size */
    BUFFER,        /* as SIZED, but what the program transfers: its payload */
    RESULT_BUFFER, /* as RESULT_SIZED, likewise */
    VECTOR,        /* struct iovec, of which argument `length` is the number: payload */
    RESULT_VECTOR, /* the same, of which the result says how many bytes were filled */
    POINTED_SIZE,  /* argument `length` points to its size, an int */
    FIXED,         /* `length` bytes */
    POLL_LIST,     /* argument `length` is its number of struct pollfd */
    EPOLL_LIST,    /* the result is its number of struct epoll_event */
    MESSAGE,       /* struct msghdr */
    MESSAGE_LIST,  /* array of struct mmsghdr; its length is in `length` at the entry, and the result at the exit */
    STAT,          /* struct stat, of which mode and size are printed */
    WORDS,         /* strings, until NULL */
};

struct pointer {
    const char *call;
    int argument;
    enum when when;
    enum what what;
    int length;
};

struct descriptor_argument {
    const char *call;
    int argument;
};

/* Each ends with an entry of zeros. */
extern const struct pointer pointers[];
extern const struct descriptor_argument descriptor_arguments[];
/* Calls whose result is a new descriptor. */
extern const char *const makers[];

#endif
