#include "checkmate/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <random>
#include <system_error>

#include "checkmate/units.h"
#include "core/text.h"

namespace checkmate {
namespace {

Error io_error(const std::filesystem::path& path, std::string_view doing, int code) {
  return {ErrorCode::kIo, fmt::format("{}: cannot {}: {}", printable(path.string(), 4096), doing,
                                      std::error_code(code, std::generic_category()).message())};
}

/// An open file, closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_;
};

/// True when every byte was written.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Where a chain of links ends, whether or not there is a file; nothing where it goes round.
std::optional<std::filesystem::path> behind_links(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as Linux
  std::error_code ignored;
  for (int i = 0; i < kMostLinks; ++i) {
    if (!std::filesystem::is_symlink(path, ignored)) return path;
    path = path.parent_path() / std::filesystem::read_symlink(path, ignored);
  }
  return std::nullopt;
}

/// A new file next to `path`, and its name. The short random name fits where the file's own does.
std::pair<int, std::filesystem::path> create_beside(const std::filesystem::path& path) {
  constexpr int kTries = 100;
  std::random_device random;
  for (int i = 0; i < kTries; ++i) {
    const std::filesystem::path name = path.parent_path() / fmt::format(".checkmate-{:08x}", random());
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return {fd, name};
  }
  return {-1, {}};
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return io_error(path, "open it", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return io_error(path, "look at it", errno);
  if (S_ISDIR(status.st_mode)) return io_error(path, "read it", EISDIR);

  const Error too_large{ErrorCode::kTooLarge,
                        fmt::format("{}: larger than {}, the size limit", printable(path.string(), 4096),
                                    to_string(Bytes{static_cast<std::int64_t>(kLargestFile)}))};
  if (S_ISREG(status.st_mode) && status.st_size > static_cast<off_t>(kLargestFile)) return too_large;
  std::string text;
  std::size_t size = 0;
  while (true) {
    // One byte more than a regular file claims, so that its end is seen without growing the buffer.
    const std::size_t room =
        size == 0 ? static_cast<std::size_t>(std::max<off_t>(status.st_size, 65535)) + 1 : 2 * size;
    if (size == text.size()) text.resize(std::min(room, kLargestFile + 1));
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error(path, "read it", errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size > kLargestFile) return too_large;
  }
  text.resize(size);
  return text;
}

Result<void> write_file(const std::filesystem::path& path, std::string_view text) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) return io_error(path, "write it", EISDIR);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    // A pipe or a device has no whole to replace.
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0 || !write_all(file.get(), text) || !file.close())
      return io_error(path, "write it", errno);
    return {};
  }
  // What a link points to is replaced or made, not the link; a file that was there keeps its mode.
  const std::optional<std::filesystem::path> target = behind_links(path);
  if (!target) return io_error(path, "write it", ELOOP);
  const bool existed = std::filesystem::exists(status);
  const auto [fd, temporary] = create_beside(*target);
  Descriptor file(fd);
  if (file.get() < 0) return io_error(path, "create it", errno);
  const auto mode = static_cast<mode_t>(status.permissions());
  const bool written = write_all(file.get(), text) && (!existed || ::fchmod(file.get(), mode) == 0) &&
                       ::fsync(file.get()) == 0 && file.close() &&
                       ::rename(temporary.c_str(), target->c_str()) == 0;
  if (written) return {};
  const int code = errno;
  ::unlink(temporary.c_str());
  return io_error(path, "write it", code);
}

}  // namespace checkmate
