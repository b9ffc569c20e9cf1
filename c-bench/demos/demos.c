/* All demos. To add one, add its file to this folder, its function to demo.h and its entry here. */
#include "run.h"

const struct demo_entry demos[] = {
    {.name = "ring",
     .title = "Ring in shared memory",
     .source = "c-bench/demos/ring.c",
     .run = ring_demo,
     .spins = true},
    {.name = "shm-spin",
     .title = "Shared memory, spinning",
     .source = "c-bench/demos/shm-spin.c",
     .run = shm_spin_demo,
     .spins = true,
     .names = {"/dev/shm/crossings-%d"}},
    {.name = "shm-sem",
     .title = "Shared memory, semaphores",
     .source = "c-bench/demos/shm-sem.c",
     .run = shm_sem_demo,
     .names = {"/dev/shm/crossings-%d", "/dev/shm/sem.crossings-%d-free", "/dev/shm/sem.crossings-%d-full"}},
    {.name = "pipe", .title = "Pipe", .source = "c-bench/demos/pipe.c", .run = pipe_demo},
    {.name = "uds",
     .title = "Unix domain socket",
     .source = "c-bench/demos/uds.c",
     .run = uds_demo,
     .names = {"/tmp/crossings-%d.sock"}},
    {.name = "tcp", .title = "TCP over loopback", .source = "c-bench/demos/tcp.c", .run = tcp_demo},
    {.name = NULL},
};
