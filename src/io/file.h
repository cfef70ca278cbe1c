#pragma once

#include <filesystem>
#include <string>

#include "checkmate/result.h"

namespace checkmate {

/// The whole file, at most kLargestFile bytes, from anything that can be read to an end: a file, a pipe, a
/// device.
Result<std::string> read_file(const std::filesystem::path& path);

}  // namespace checkmate
