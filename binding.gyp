# Everything compiled is a target here, so `npm install` in a checkout is the whole build.
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
    # The ring in plain C, without Node.
    'native': ['native/handshake.c', 'native/region.c'],
    'harness': [
      'c-bench/harness/bench.c',
      'c-bench/harness/clock.c',
      'c-bench/harness/ndjson.c',
      'c-bench/harness/options.c',
      'c-bench/harness/pair.c',
      'c-bench/harness/round-trip.c',
      'c-bench/harness/throughput.c',
      'c-bench/harness/topology.c',
    ],
  },
  'targets': [
    {
      # The addon of require('crossings'). Node-API 8: one binary for Node 20 and all later ones.
      'target_name': 'crossings',
      'sources': ['native/addon.cc', '<@(native)'],
      'include_dirs': ["<!(node -p \"require('node-addon-api').include_dir\")"],
      # The last: a worker that is being terminated can be told nothing, and must not take the process down for it.
      'defines': ['NAPI_VERSION=8', 'NAPI_CPP_EXCEPTIONS', 'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS'],
      'cflags_cc': ['-std=c++17', '-O2'],
      'cflags_cc!': ['-fno-exceptions'],
      'ldflags': ['-static-libgcc', '-static-libstdc++'],
    },
    {
      # Measures one mechanism.
      'target_name': 'crossings-bench',
      'type': 'executable',
      'sources': ['<@(mechanisms)', 'c-bench/mechanisms.c', '<@(harness)', '<@(native)'],
    },
    {
      # Counts the system calls of a command.
      'target_name': 'crossings-count',
      'type': 'executable',
      'sources': [
        'c-bench/count/count.c',
        'c-bench/count/ptrace.c',
        'c-bench/count/tracepoint.c',
        'c-bench/harness/ndjson.c',
      ],
      'include_dirs': ['<(SHARED_INTERMEDIATE_DIR)'],
      'actions': [
        {
          'action_name': 'syscall_names',
          'inputs': ['c-bench/count/syscall-names.js'],
          'outputs': ['<(SHARED_INTERMEDIATE_DIR)/syscall-names.inc'],
          'action': ['node', 'c-bench/count/syscall-names.js', '<@(_outputs)'],
        },
      ],
    },
    {
      # The demos, with the line of each call noted. (Paths of -include are those of the build's folder.)
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
      # Runs a demo, and traces itself.
      'target_name': 'crossings-demo',
      'type': 'executable',
      'dependencies': ['crossings-demos', 'crossings-count'],
      'sources': [
        'c-bench/demos/main.c',
        'c-bench/harness/ndjson.c',
        'c-bench/harness/topology.c',
        'c-bench/trace/arguments.c',
        'c-bench/trace/events.c',
        'c-bench/trace/process.c',
        'c-bench/trace/steps.c',
        'c-bench/trace/tracer.c',
      ],
      'include_dirs': ['<(SHARED_INTERMEDIATE_DIR)'],
    },
    {
      # The C interface by example: native/examples/producer.c and consumer.c.
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
      # Mechanisms that lose, double, swap and alter messages, for the tests only.
      'target_name': 'crossings-sabotage',
      'type': 'executable',
      'sources': [
        'test/sabotage.c', 'c-bench/pipe.c', 'c-bench/shm-spin.c', '<@(harness)',
      ],
    },
  ],
}
