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
    'native': ['native/handshake.c', 'native/region.c'],
    # Everything of crossings-bench except the mechanisms.
    'harness': [
      'c-bench/programs/bench.c',
      'c-bench/harness/command-line.c',
      'c-bench/harness/floors.c',
      'c-bench/harness/guard.c',
      'c-bench/harness/pair.c',
      'c-bench/harness/results.c',
      'c-bench/harness/round-trip.c',
      'c-bench/harness/throughput.c',
    ],
  },
  'targets': [
    {
      # The addon of require('crossings'). Node-API 8: one binary for Node 20 and all later versions.
      'target_name': 'crossings',
      'sources': ['native/addon.cc', 'native/descriptors.cc', '<@(native)'],
      'include_dirs': ["<!(node -p \"require('node-addon-api').include_dir\")"],
      # The last define: a worker that is being terminated accepts no exception; without it, the process would abort.
      'defines': ['NAPI_VERSION=8', 'NAPI_CPP_EXCEPTIONS', 'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS'],
      'cflags_cc': ['-std=c++17', '-O2'],
      'cflags_cc!': ['-fno-exceptions'],
      # Stay loaded when the last thread that uses the addon ends: a thread of disposal.h may still be in it.
      'ldflags': ['-static-libgcc', '-static-libstdc++', '-Wl,-z,nodelete'],
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
      'dependencies': ['crossings-demos', 'crossings-common'],
      'sources': [
        'c-bench/programs/demo.c',
        'c-bench/demos/demos.c',
        'c-bench/demos/run.c',
        'c-bench/demos/timing.c',
        'c-bench/trace/arguments.c',
        'c-bench/trace/events.c',
        'c-bench/trace/process.c',
        'c-bench/trace/steps.c',
        'c-bench/trace/tracer.c',
      ],
    },
    {
      # Examples of the C interface.
      'target_name': 'crossings-producer',
      'type': 'executable',
      'sources': ['native/examples/producer.c', 'native/crossings.c', '<@(native)'],
    },
    {
      'target_name': 'crossings-consumer',
      'type': 'executable',
      'sources': ['native/examples/consumer.c', 'native/crossings.c', '<@(native)'],
    },
    {
      # For the tests: opens an inherited channel, starts a process and is killed.
      'target_name': 'crossings-heir',
      'type': 'executable',
      'sources': ['test/heir.c', 'native/crossings.c', '<@(native)'],
    },
    {
      # For the tests: mechanisms that lose, duplicate, reorder and alter messages.
      'target_name': 'crossings-sabotage',
      'type': 'executable',
      'dependencies': ['crossings-common'],
      'sources': ['test/sabotage.c', 'c-bench/pipe.c', 'c-bench/shm-spin.c', '<@(harness)'],
    },
  ],
}
