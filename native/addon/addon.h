/*
 * What the files of the addon share: errors, arguments, and who defines what. Only the files of this folder include
 * Node-API. Errors are JavaScript errors with a `code` and no final period, and with `errno` if the code is ERR_SYSTEM;
 * lib/channel/native.js makes each a CrossingsError.
 */
#ifndef CROSSINGS_ADDON_H
#define CROSSINGS_ADDON_H

#include <napi.h>

#include <string>

#include "descriptors.h"

[[noreturn]] void Throw(Napi::Env env, const char *code, const std::string &message);
/* With the text and the number of errno. */
[[noreturn]] void ThrowSystem(Napi::Env env, const std::string &what);
[[noreturn]] void ThrowHandshake(Napi::Env env, enum handshake_status status, const std::string &subject,
                                 const char *reason);

inline int IntegerAt(const Napi::CallbackInfo &info, size_t index) {
    return info[index].As<Napi::Number>().Int32Value();
}

/* Export a function. `Function` takes a CallbackInfo and returns nothing or a value. */
template <typename Function> void Export(Napi::Object exports, const char *name, Function function) {
    exports.Set(name, Napi::Function::New(exports.Env(), function, name));
}

/* The descriptors of this thread. */
Descriptors &DescriptorsOf(Napi::Env env);

/* Each file's functions. */
void ExportSockets(Napi::Object exports);
void ExportRegions(Napi::Object exports);
void ExportCopies(Napi::Object exports);
void ExportLoopPoller(Napi::Object exports);
void ExportThreadPoller(Napi::Object exports);

#endif
