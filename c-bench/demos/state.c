/* Defines the state that a demo or a lesson's program reports to the tracer. */
#include "state.h"

_Thread_local struct demo_state demo;
