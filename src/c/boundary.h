#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "checkmate/c.h"
#include "checkmate/graph.h"
#include "checkmate/result.h"
#include "core/try.h"

/// Where C begins: no exception passes, and errors become codes with messages.
namespace checkmate::c {

static_assert(CHECKMATE_TOO_LARGE == 1 + static_cast<int>(ErrorCode::kTooLarge));
inline checkmate_code code_of(ErrorCode code) {
  return static_cast<checkmate_code>(1 + static_cast<int>(code));
}

/// NULL where memory runs out: the code still says what happened.
inline checkmate_code fail(checkmate_code code, std::string_view text, char** message) {
  if (message == nullptr) return code;
  *message = static_cast<char*>(std::malloc(text.size() + 1));
  if (*message != nullptr) (*message)[text.copy(*message, text.size())] = '\0';
  return code;
}

/// Runs `body`, which returns a Result<void>.
template <class Body>
checkmate_code guarded(char** message, const Body& body) noexcept {
  if (message != nullptr) *message = nullptr;
  try {
    const Result<void> done = body();
    return done ? CHECKMATE_OK : fail(code_of(done.error().code), done.error().message, message);
  } catch (const std::bad_alloc&) {
    return fail(CHECKMATE_TOO_LARGE, "not enough memory", message);
  } catch (const std::exception& bug) {
    return fail(CHECKMATE_INTERNAL, std::string_view(bug.what()), message);
  }
}

/// Makes a handle, or NULL where memory runs out.
template <class Handle, class... Arguments>
Handle* made(Arguments&&... arguments) noexcept {
  try {
    return new Handle{std::forward<Arguments>(arguments)...};
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

/// A NULL handle reads as an empty one.
template <class Handle>
const Handle& or_empty(const Handle* handle) {
  static const Handle empty{};
  return handle == nullptr ? empty : *handle;
}

inline Result<void> given(const void* argument, const char* name) {
  if (argument != nullptr) return {};
  return Error{ErrorCode::kInvalidArgument, std::string(name) + " is NULL"};
}

/// The caller's struct, which may have fewer members than ours; `defaults` has the others.
template <class Struct>
Result<Struct> read(const Struct* theirs, const char* name, Struct defaults = {}) {
  CHECKMATE_TRY(given(theirs, name));
  const std::size_t size = theirs->struct_size;
  if (size < sizeof(size) || size > sizeof(Struct)) {
    const std::string expected = std::to_string(sizeof(Struct));
    return Error{ErrorCode::kInvalidArgument,
                 std::string(name) + ": struct_size is " + std::to_string(size) +
                     "; it should be the struct's sizeof, with this library at most " + expected};
  }
  std::memcpy(&defaults, theirs, size);
  return defaults;
}

/// Writes as many of our defaults as the caller's struct has room for.
template <class Struct>
void write_defaults(const Struct& defaults, Struct* theirs, std::size_t size) {
  if (theirs == nullptr || size < sizeof(size)) return;
  std::memset(theirs, 0, size);
  std::memcpy(theirs, &defaults, std::min(size, sizeof(Struct)));
  theirs->struct_size = size;
}

inline std::string text(const char* of) { return of == nullptr ? "" : of; }
inline checkmate_text view(std::string_view of) { return {of.data(), of.size()}; }

template <class IdType>
checkmate_ids view(std::span<const IdType> ids) {
  static_assert(sizeof(IdType) == sizeof(std::uint32_t));
  return {ids.empty() ? nullptr : &ids.front().value, ids.size()};
}

template <class IdType>
Result<std::vector<IdType>> ids(checkmate_ids of, const char* name) {
  if (of.size != 0) CHECKMATE_TRY(given(of.data, name));
  std::vector<IdType> ids(of.size);
  std::transform(of.data, of.data + of.size, ids.begin(), [](std::uint32_t id) { return IdType{id}; });
  return ids;
}

}  // namespace checkmate::c
