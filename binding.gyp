# Everything compiled is a target here, so `npm install` in a checkout builds everything.
{
  'target_defaults': {
    'default_configuration': 'Release',
    'cflags': ['-Wall', '-Wextra'],
    'defines': ['_GNU_SOURCE'],
    'cflags_c': ['-std=gnu11', '-O3', '-g'],
    'libraries': ['-lm', '-pthread'],
  },
  'variables': {
    # A mechanism is one file in c-bench/ and one line in its mechanisms.c.
    'mechanisms': ["<!@(node -p \"require('fs').readdirSync('c-bench').filter((f) => f.endsWith('.c') && f !== 'mechanisms.c').map((f) => 'c-bench/' + f).join(' ')\")"],
    # The ring in plain C; does not need Node.
    'native': ['native/disposal.c', 'native/doorbell.c', 'native/handshake.c', 'native/listener.c', 'native/region.c'],
    # What implements native/crossings.h.
    'c_interface': ['native/channel.c', 'native/messages.c', 'native/server.c', '<@(native)'],
    # Everything of crossings-prove except the hot path.
    'prove': [
      'c-bench/programs/prove.c',
      'c-bench/prove/controls.c',
      'c-bench/prove/filter.c',
      'c-bench/prove/proofs.c',
      'c-bench/prove/supervisor.c',
      '<@(native)',
    ],
    # Everything of crossings-bench except the mechanisms.
    'harness': [
      'c-bench/programs/bench.c',
      'c-bench/harness/command-line.c',
      'c-bench/harness/floors.c',
      'c-bench/harness/function-call.c',
      'c-bench/harness/guard.c',
      'c-bench/harness/pair.c',
      'c-bench/harness/plant.c',
      'c-bench/harness/results.c',
      'c-bench/harness/round-trip.c',
      'c-bench/harness/spinners.c',
      'c-bench/harness/throughput.c',
    ],
    # The tracer, and its parts for programs that are forked without exec.
    'tracer': [
      'c-bench/trace/arguments.c',
      'c-bench/trace/calls.c',
      'c-bench/trace/descriptors.c',
      'c-bench/trace/ending.c',
      'c-bench/trace/events.c',
      'c-bench/trace/outside.c',
      'c-bench/trace/process.c',
      'c-bench/trace/program.c',
      'c-bench/trace/sockets.c',
      'c-bench/trace/tasks.c',
      'c-bench/trace/tracer.c',
    ],
    'function_tracer': [
      'c-bench/demos/state.c',
      'c-bench/trace/function.c',
      'c-bench/trace/state.c',
      'c-bench/trace/steps.c',
      '<@(tracer)',
    ],
    'sweep': [
      'c-bench/programs/sweep.c',
      'c-bench/sweep/command-line.c',
      'c-bench/sweep/content.c',
      'c-bench/sweep/counters.c',
      'c-bench/sweep/ring.c',
      'c-bench/sweep/sample.c',
      'c-bench/sweep/sides.c',
      'c-bench/sweep/streams.c',
    ],
  },
  'targets': [
    {
      # The addon of require('crossings'). Node-API 8: one binary for Node 20 and all later versions.
      'target_name': 'crossings',
      'sources': [
        'native/addon/addon.cc',
        'native/addon/copies.cc',
        'native/addon/descriptors.cc',
        'native/addon/loop-poller.cc',
        'native/addon/mappings.cc',
        'native/addon/regions.cc',
        'native/addon/sockets.cc',
        'native/addon/thread-poller.cc',
        'native/addon/watcher.cc',
        'native/ring-copy.c',
        '<@(native)',
      ],
      'include_dirs': ["<!(node -p \"require('node-addon-api').include_dir\")"],
      # The last define: a worker that is being terminated accepts no exception; without it, the process would abort.
      'defines': ['NAPI_VERSION=8', 'NAPI_CPP_EXCEPTIONS', 'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS'],
      'cflags_cc': ['-std=c++17', '-O2'],
      'cflags_cc!': ['-fno-exceptions'],
      # Its functions are its own: a library that is loaded before it may have others of the same names, such as another version of native/.
      'cflags': ['-fvisibility=hidden'],
      # Stay loaded when the last thread that uses the addon ends: a thread of disposal.h may still be in it.
      'ldflags': ['-static-libgcc', '-static-libstdc++', '-Wl,--exclude-libs,ALL', '-Wl,-z,nodelete'],
    },
    {
      # What the programs of c-bench/ share.
      'target_name': 'crossings-common',
      'type': 'static_library',
      'sources': [
        'c-bench/common/clock.c',
        'c-bench/common/gate.c',
        'c-bench/common/ndjson.c',
        'c-bench/common/options.c',
        'c-bench/common/signals.c',
        'c-bench/common/syscalls.c',
        'c-bench/common/topology.c',
      ],
      'include_dirs': ['<(SHARED_INTERMEDIATE_DIR)'],
      'actions': [
        {
          'action_name': 'syscall_names',
          'inputs': ['c-bench/common/syscall-names.js'],
          'outputs': ['<(SHARED_INTERMEDIATE_DIR)/syscall-names.inc'],
          'action': ['node', 'c-bench/common/syscall-names.js', '<@(_outputs)'],
        },
      ],
    },
    {
      # Measures one mechanism.
      'target_name': 'crossings-bench',
      'type': 'executable',
      'dependencies': ['crossings-common'],
      'sources': ['<@(mechanisms)', 'c-bench/mechanisms.c', '<@(harness)', '<@(native)'],
    },
    {
      # Counts the system calls of a command.
      'target_name': 'crossings-count',
      'type': 'executable',
      'dependencies': ['crossings-common'],
      'sources': ['c-bench/programs/count.c', 'c-bench/count/ptrace.c', 'c-bench/count/tracepoint.c'],
    },
    {
      # Bandwidth against buffer size.
      'target_name': 'crossings-sweep',
      'type': 'executable',
      'dependencies': ['crossings-common'],
      'sources': ['<@(sweep)', '<@(native)'],
    },
    {
      # Exchanges messages under a filter that kills at any system call. Without the stack protector, whose check is a call.
      'target_name': 'crossings-prove',
      'type': 'executable',
      'dependencies': ['crossings-common'],
      'sources': ['c-bench/prove/hot-path.c', '<@(prove)'],
      'cflags_c': ['-fno-stack-protector'],
    },
    {
      # The same filter for the main thread of a Node process. Used by `crossings prove` only.
      'target_name': 'crossings-filter',
      'dependencies': ['crossings-common'],
      'sources': ['c-bench/prove/addon.c', 'c-bench/prove/filter.c'],
      'defines': ['NAPI_VERSION=8'],
    },
    {
      # Tries to write a peer's memory, and to pass it wrong frames.
      'target_name': 'crossings-gates',
      'type': 'executable',
      'dependencies': ['crossings-common'],
      'sources': [
        'c-bench/programs/gates.c',
        'c-bench/gates/frames.c',
        'c-bench/gates/memory.c',
        'c-bench/gates/report.c',
        '<@(native)',
      ],
    },
    {
      # The tracer of functions and of commands.
      'target_name': 'crossings-tracer',
      'type': 'static_library',
      'sources': ['c-bench/trace/command.c', '<@(function_tracer)'],
    },
    {
      # The demos, which record the line of each call for the tracer. (-include is relative to the build folder.)
      'target_name': 'crossings-demos',
      'type': 'static_library',
      'sources': [
        'c-bench/demos/demo.c',
        'c-bench/demos/pipe.c',
        'c-bench/demos/ring.c',
        'c-bench/demos/shm-sem.c',
        'c-bench/demos/shm-spin.c',
        'c-bench/demos/tcp.c',
        'c-bench/demos/uds.c',
        '<@(native)',
      ],
      'cflags_c': ['-include', '../c-bench/demos/lines.h'],
    },
    {
      # Runs, times or traces a demo.
      'target_name': 'crossings-demo',
      'type': 'executable',
      'dependencies': ['crossings-demos', 'crossings-tracer', 'crossings-common'],
      'sources': [
        'c-bench/programs/demo.c',
        'c-bench/demos/demos.c',
        'c-bench/demos/run.c',
        'c-bench/demos/timing.c',
        'c-bench/trace/demo.c',
      ],
    },
    {
      # Traces any command.
      'target_name': 'crossings-trace',
      'type': 'executable',
      'dependencies': ['crossings-tracer', 'crossings-common'],
      'sources': ['c-bench/programs/trace.c'],
    },
    {
      # Runs the programs of the lessons and pitfalls: every C file in a folder of either. (-include as above.)
      'target_name': 'crossings-lessons',
      'type': 'executable',
      'dependencies': ['crossings-tracer', 'crossings-common'],
      'sources': [
        'c-bench/programs/lessons.c',
        'c-bench/lessons/confine.c',
        'c-bench/lessons/descendants.c',
        'c-bench/lessons/names.c',
        'c-bench/lessons/namespaces.c',
        'c-bench/lessons/output.c',
        'c-bench/lessons/parent.c',
        'c-bench/lessons/programs.c',
        'c-bench/lessons/room.c',
        'c-bench/lessons/stream.c',
        'c-bench/lessons/unread.c',
        "<!@(node c-bench/lessons/sources.js)",
      ],
      'cflags_c': ['-include', '../c-bench/lessons/program.h', '-O2', '-Wno-unused-parameter'],
    },
    {
      # Examples of the C interface.
      'target_name': 'crossings-producer',
      'type': 'executable',
      'sources': ['native/examples/producer.c', '<@(c_interface)'],
    },
    {
      'target_name': 'crossings-consumer',
      'type': 'executable',
      'sources': ['native/examples/consumer.c', '<@(c_interface)'],
    },
    {
      # For the tests: opens an inherited channel, starts a process and is killed.
      'target_name': 'crossings-heir',
      'type': 'executable',
      'sources': ['test/heir.c', '<@(c_interface)'],
    },
    {
      # For the tests: wakes a peer although ringing the doorbell fails at first.
      'target_name': 'crossings-unrung',
      'type': 'executable',
      'sources': ['test/unrung.c', '<@(c_interface)'],
    },
    {
      # For the tests: programs that hang, to be traced.
      'target_name': 'crossings-hang',
      'type': 'executable',
      'sources': ['test/hang.c'],
    },
    {
      # For the tests: programs that seem to be deadlocked.
      'target_name': 'crossings-goes-on',
      'type': 'executable',
      'sources': ['test/goes-on.c'],
    },
    {
      # For the tests: programs that wait for a process that is not traced.
      'target_name': 'crossings-woken',
      'type': 'executable',
      'sources': ['test/woken.c'],
      'libraries': ['-lrt'],
    },
    {
      # For the tests: mechanisms that lose, duplicate, reorder and alter messages.
      'target_name': 'crossings-sabotage',
      'type': 'executable',
      'dependencies': ['crossings-common'],
      'sources': ['test/sabotage.c', 'test/sabotage-ring.c', 'c-bench/pipe.c', 'c-bench/shm-spin.c', '<@(harness)', '<@(native)'],
    },
    {
      # For the tests: the hot path with a system call hidden in it.
      'target_name': 'crossings-prove-sabotage',
      'type': 'executable',
      'dependencies': ['crossings-common'],
      'sources': ['test/sabotage-hot-path.c', '<@(prove)'],
      'cflags_c': ['-fno-stack-protector'],
    },
    {
      # For the tests: runs a command where seccomp(2) is refused, as in some containers.
      'target_name': 'crossings-no-seccomp',
      'type': 'executable',
      'sources': ['test/no-seccomp.c'],
    },
    {
      # For the tests: a sweep that loses, doubles and alters bytes.
      'target_name': 'crossings-sweep-faults',
      'type': 'executable',
      'dependencies': ['crossings-common'],
      'sources': ['test/sweep-faults.c', '<@(sweep)', '<@(native)'],
      'ldflags': ['-Wl,--wrap=write,--wrap=memcpy'],
    },
  ],
}
