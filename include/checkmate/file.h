#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "checkmate/result.h"

#pragma GCC visibility push(default)
namespace checkmate {

/// The largest file that is read: 1 GiB, enough for five million ops.
inline constexpr std::size_t kLargestFile = std::size_t{1} << 30;

/// The whole content, at most kLargestFile bytes, of anything that can be read to its end: a file, a pipe or
/// a device.
Result<std::string> read_file(const std::filesystem::path& path);

/// Replaces the whole file (temporary file, then rename) or leaves it unchanged. Where the path is a link,
/// that is the file that it points to, which need not exist yet.
Result<void> write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace checkmate
#pragma GCC visibility pop
