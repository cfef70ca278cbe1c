#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace checkmate::torch {

/// What was found out once and is worth remembering: records in a folder of the user, which Python's front
/// end shares. Without a folder, which is so by default for who has no home, nothing is remembered; a record
/// that cannot be written is no reason to fail.
class Cache {
 public:
  explicit Cache(std::filesystem::path folder);

  /// The record's text; nothing if there is none that can be read.
  std::optional<std::string> read(std::string_view kind, std::string_view key) const;
  void write(std::string_view kind, std::string_view key, std::string_view text) const;
  /// Where the record is, if there is one; empty where nothing is remembered.
  std::filesystem::path path(std::string_view kind, std::string_view key) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace checkmate::torch
