#include "checkmate/result.h"

#include <stdexcept>

namespace checkmate {

void raise(const Error& error) { throw std::runtime_error(error.message); }

}  // namespace checkmate
