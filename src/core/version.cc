#include "checkmate/version.h"

namespace checkmate {

const char* version() { return CHECKMATE_VERSION; }

}  // namespace checkmate
