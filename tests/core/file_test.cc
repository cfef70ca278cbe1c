#include "checkmate/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "support/program.h"

namespace checkmate {
namespace {

using ::testing::HasSubstr;
using testing::read_text;
using testing::ScratchFolder;

TEST(WriteFile, ReplacesTheWholeFile) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.file("a.txt", "old and much longer than the new text");
  ASSERT_TRUE(write_file(path, "new"));
  EXPECT_EQ(read_text(path), "new");
  EXPECT_EQ(*read_file(path), "new");
  EXPECT_EQ(folder.entries(), 1U);  // no temporary file is left
}

TEST(WriteFile, KeepsTheModeAndFollowsALink) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.file("a.txt", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  std::filesystem::create_symlink("a.txt", folder.path() / "link");
  ASSERT_TRUE(write_file(folder.path() / "link", "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link"));
  EXPECT_EQ(read_text(path), "new");
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0640});
}

TEST(WriteFile, MakesTheFileThatADanglingLinkPointsTo) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path() / "below");
  std::filesystem::create_symlink("below/second", folder.path() / "first");
  std::filesystem::create_symlink("file", folder.path() / "below" / "second");  // relative to its own folder
  ASSERT_TRUE(write_file(folder.path() / "first", "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "first"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "below" / "second"));
  EXPECT_EQ(read_text(folder.path() / "below" / "file"), "new");

  std::filesystem::create_symlink("none/file", folder.path() / "nowhere");
  EXPECT_THAT(write_file(folder.path() / "nowhere", "x").error().message, HasSubstr("No such file"));
  std::filesystem::create_symlink("round", folder.path() / "round");
  EXPECT_THAT(write_file(folder.path() / "round", "x").error().message, HasSubstr("Too many levels"));
  EXPECT_EQ(folder.entries(), 4U);
}

/// Files of this process may have at most 4 bytes, as on a disk that is nearly full.
class SmallDisk {
 public:
  SmallDisk() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = 4;
    ::setrlimit(RLIMIT_FSIZE, &small);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);  // write() is to fail, not to end the test
  }
  ~SmallDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(WriteFile, LeavesTheOldFileWhereTheNewOneDoesNotFit) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.file("a.txt", "old");
  Result<void> written;
  {
    const SmallDisk full;
    written = write_file(path, "five!");
  }
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kIo);
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(WriteFile, RefusesWhatIsNoFile) {
  const ScratchFolder folder;
  EXPECT_THAT(write_file(folder.path(), "x").error().message, HasSubstr("Is a directory"));
  EXPECT_THAT(write_file(folder.path() / "none" / "a.txt", "x").error().message, HasSubstr("No such file"));
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(WriteFile, WritesToADevice) {
  EXPECT_TRUE(write_file("/dev/null", "x"));
  EXPECT_FALSE(write_file("/dev/full", "x"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(ReadFile, ReadsToTheEndWhateverTheFileSaysOfItsSize) {
  const ScratchFolder folder;
  const std::string text = std::string(70'000, 'x') + std::string("\0y", 2);  // more than the first buffer
  EXPECT_EQ(*read_file(folder.file("a", text)), text);
  EXPECT_EQ(*read_file(folder.file("empty", "")), "");
  EXPECT_FALSE(read_file("/proc/self/status")->empty());  // claims 0 bytes
}

TEST(ReadFile, RefusesWhatIsTooLargeOrNotThere) {
  const ScratchFolder folder;
  const std::filesystem::path large = folder.file("large", "");
  std::filesystem::resize_file(large, kLargestFile + 1);  // sparse: takes no disk
  EXPECT_EQ(read_file(large).error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(read_file(folder.path() / "none").error().message, HasSubstr("No such file"));
  EXPECT_THAT(read_file(folder.path()).error().message, HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace checkmate
