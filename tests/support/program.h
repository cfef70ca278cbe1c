#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// Running other programs, and a folder to do it in.
namespace checkmate::testing {

struct Finished {
  int exit_code;
  std::string out;
  std::string err;
};

/// Runs a program found on the PATH or by its path, without a shell.
Finished run(const std::vector<std::string>& command);

/// The same on a terminal of so many columns: all that it shows, stdout and stderr together, as it is sent,
/// with
/// `\n` for each end of a line. `environment` is of the kind `NAME=value`, an empty value being none.
Finished run_on_terminal(const std::vector<std::string>& command, unsigned short columns,
                         const std::vector<std::string>& environment = {});

/// An empty folder that is gone with its test.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::filesystem::path path() const { return path_; }
  /// Writes a file and returns its path.
  std::string file(std::string_view name, std::string_view text) const;
  std::size_t entries() const;

 private:
  std::filesystem::path path_;
};

std::string read_text(const std::filesystem::path& path);

}  // namespace checkmate::testing
