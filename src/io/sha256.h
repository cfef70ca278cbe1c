#pragma once

#include <string>
#include <string_view>

namespace checkmate {

/// SHA-256 (FIPS 180-4) in lower-case hexadecimal. Ours, so that the library needs no cryptography library
/// for one fingerprint; nothing secret depends on it.
std::string sha256(std::string_view data);

}  // namespace checkmate
