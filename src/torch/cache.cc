#include "torch/cache.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "checkmate/file.h"
#include "io/sha256.h"

namespace checkmate::torch {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestRecord = 64 << 20;
constexpr std::size_t kMostRecords = 512;  // of one kind; the oldest make room

fs::path default_folder() {
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base != nullptr && *base != '\0') {
    return fs::path(base) / "checkmate";
  }
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? fs::path() : fs::path(home) / ".cache" / "checkmate";
}

void make_room(const fs::path& folder) {
  std::error_code failed;
  std::vector<std::pair<fs::file_time_type, fs::path>> records;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    records.emplace_back(entry.last_write_time(failed), entry.path());
  }
  std::sort(records.begin(), records.end());
  for (std::size_t i = 0; i + kMostRecords < records.size(); ++i) {
    fs::remove(records[i].second, failed);
  }
}

}  // namespace

Cache::Cache(fs::path folder) : folder_(folder.empty() ? default_folder() : std::move(folder)) {}

fs::path Cache::path(std::string_view kind, std::string_view key) const {
  return folder_.empty() ? fs::path() : folder_ / kind / (sha256(key).substr(0, 32) + ".json");
}

std::optional<std::string> Cache::read(std::string_view kind, std::string_view key) const {
  const fs::path record = path(kind, key);
  std::error_code failed;
  if (record.empty() || !fs::is_regular_file(record, failed) ||
      fs::file_size(record, failed) > kLargestRecord) {
    return std::nullopt;
  }
  Result<std::string> text = read_file(record);
  if (!text) {
    return std::nullopt;
  }
  fs::last_write_time(record, fs::file_time_type::clock::now(), failed);
  return *std::move(text);
}

void Cache::write(std::string_view kind, std::string_view key, std::string_view text) const {
  const fs::path record = path(kind, key);
  if (record.empty()) {
    return;
  }
  std::error_code failed;
  fs::create_directories(record.parent_path(), failed);
  if (!failed && write_file(record, text)) {
    make_room(record.parent_path());
  }
}

}  // namespace checkmate::torch
