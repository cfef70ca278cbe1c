#include "support/program.h"

#include <fcntl.h>
#include <pty.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace checkmate::testing {

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "checkmate-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a scratch folder");
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::file(std::string_view name, std::string_view text) const {
  const std::filesystem::path file = path_ / name;
  std::ofstream(file, std::ios::binary) << text;
  return file.string();
}

std::size_t ScratchFolder::entries() const {
  const auto entries = std::filesystem::directory_iterator(path_);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

namespace {

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

pid_t spawn(const std::vector<std::string>& command, FileActions& actions) {
  std::vector<char*> arguments;
  std::transform(command.begin(), command.end(), std::back_inserter(arguments),
                 [](const std::string& text) { return const_cast<char*>(text.c_str()); });
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (::posix_spawnp(&child, arguments[0], actions.get(), nullptr, arguments.data(), environ) != 0)
    throw std::runtime_error("cannot run " + command[0]);
  return child;
}

int exit_code_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

Finished run(const std::vector<std::string>& command) {
  const ScratchFolder folder;
  const std::string out = folder.file("out", "");
  const std::string err = folder.file("err", "");
  FileActions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, out.c_str(), O_WRONLY, 0);
  posix_spawn_file_actions_addopen(actions.get(), STDERR_FILENO, err.c_str(), O_WRONLY, 0);
  const int exit_code = exit_code_of(spawn(command, actions));
  return {exit_code, read_text(out), read_text(err)};
}

Finished run_on_terminal(const std::vector<std::string>& command, unsigned short columns,
                         const std::vector<std::string>& environment) {
  int ours = -1;
  int theirs = -1;
  const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  if (::openpty(&ours, &theirs, nullptr, nullptr, &size) != 0)
    throw std::runtime_error("cannot open a terminal");
  ::fcntl(ours, F_SETFD, FD_CLOEXEC);
  std::vector<std::string> full = {"env"};
  for (const std::string& variable : environment) {
    const std::size_t equals = variable.find('=');
    if (equals + 1 == variable.size()) full.insert(full.end(), {"-u", variable.substr(0, equals)});
  }
  for (const std::string& variable : environment) {
    if (!variable.ends_with('=')) full.push_back(variable);
  }
  full.insert(full.end(), command.begin(), command.end());
  FileActions actions;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_adddup2(actions.get(), theirs, stream);
  posix_spawn_file_actions_addclose(actions.get(), theirs);
  const pid_t child = spawn(full, actions);
  ::close(theirs);
  std::string shown;
  std::array<char, 4096> part{};
  // Ends with an error once nobody has the other end open.
  for (ssize_t got = 0; (got = ::read(ours, part.data(), part.size())) > 0;)
    shown.append(part.data(), static_cast<std::size_t>(got));
  ::close(ours);
  for (std::size_t at = shown.find("\r\n"); at != std::string::npos; at = shown.find("\r\n", at))
    shown.erase(at, 1);
  return {exit_code_of(child), shown, ""};
}

}  // namespace checkmate::testing
