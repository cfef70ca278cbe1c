#pragma once

#include "checkmate/result.h"

namespace checkmate {

/// What is being thrown, as an Error. Only in a catch clause.
Error error_of_exception();

/// Calls a function that returns a Result; what it throws becomes an Error. The library's callers may be
/// built without exceptions, so nothing may be thrown at them.
template <class Function>
auto guarded(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (...) {
    return error_of_exception();
  }
}

}  // namespace checkmate
