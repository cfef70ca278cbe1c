#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "checkmate/result.h"

namespace checkmate {

/// No file that is read may be larger: 1 GiB, enough for five million ops.
inline constexpr std::size_t kLargestFile = std::size_t{1} << 30;

/// The whole file, at most kLargestFile bytes, from anything that can be read to an end: a file, a pipe, a
/// device.
Result<std::string> read_file(const std::filesystem::path& path);

/// Replaces the file as a whole (temporary file, then rename) or leaves it as it was.
Result<void> write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace checkmate
