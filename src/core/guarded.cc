#include "core/guarded.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

namespace checkmate {

Error error_of_exception() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {ErrorCode::kTooLarge, "not enough memory for this graph"};
  } catch (const std::overflow_error& overflow) {
    return {ErrorCode::kTooLarge, overflow.what()};
  } catch (const std::system_error& refusal) {
    return {ErrorCode::kIo, fmt::format("the operating system refused: {}", refusal.what())};
  } catch (const std::exception& bug) {
    return {ErrorCode::kInternal,
            fmt::format("this is a bug; please report it together with the graph: {}", bug.what())};
  } catch (...) {
    return {ErrorCode::kInternal, "a callback threw something that is no std::exception"};
  }
}

}  // namespace checkmate
