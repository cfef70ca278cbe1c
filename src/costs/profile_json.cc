#include <fmt/format.h>

#include <array>
#include <unordered_map>

#include "core/text.h"
#include "core/try.h"
#include "costs/profile.h"
#include "io/json_reader.h"

namespace checkmate {
namespace {

enum ProfileField { kFormat, kVersion, kDevice, kUnit, kEntries };
constexpr std::array<JsonReader::Field, 5> kProfileFields = {
    {{"format", true}, {"version", true}, {"device", true}, {"unit", true}, {"entries", true}}};

enum EntryField { kOp, kKind, kShape, kBatch, kNanoseconds, kSpread };
constexpr std::array<JsonReader::Field, 6> kEntryFields = {
    {{"op"}, {"kind"}, {"shape"}, {"batch", true}, {"nanoseconds", true}, {"spread"}}};

struct Entry {
  std::optional<std::string_view> op, kind, shape;
  std::int64_t batch = 1;
  Profile::Measurement measured = {0, 0};
};

class ProfileReader {
 public:
  explicit ProfileReader(JsonReader& json) : json_(json) {}

  Result<Profile> read() {
    json_.object(kProfileFields, JsonReader::Others::kRefuse, [&](std::size_t field) {
      switch (field) {
        case kFormat:
          if (json_.string() != "checkmate.profile")
            json_.fail("expected \"checkmate.profile\"; this is another kind of file");
          break;
        case kVersion:
          if (json_.integer() != 1) json_.fail("this program reads version 1 of the format");
          break;
        case kDevice:
          profile_.device = json_.string();
          break;
        case kUnit:
          if (json_.string() != "ns") json_.fail("expected \"ns\", the only unit of times");
          break;
        case kEntries:
          json_.array([&](std::size_t) { add(read_entry()); });
          break;
        default:
          break;
      }
    });
    CHECKMATE_TRY(json_.finish());
    return std::move(profile_);
  }

 private:
  Entry read_entry() {
    Entry entry;
    json_.object(kEntryFields, JsonReader::Others::kRefuse, [&](std::size_t field) {
      switch (field) {
        case kOp:
          entry.op = json_.string();
          if (entry.op->empty()) json_.fail("an op without a name can only be found by kind and shape");
          break;
        case kKind:
          entry.kind = json_.string();
          break;
        case kShape:
          entry.shape = json_.string();
          if (!shape_at(*entry.shape, 1)) {
            json_.fail(fmt::format("expected a shape such as \"4096n,256->1024n\", got {}",
                                   in_quotes(*entry.shape)));
          }
          break;
        case kBatch:
          entry.batch = json_.integer(1);
          if (entry.batch > kLargestBatch)
            json_.fail(fmt::format("expected at most {}, got {}", kLargestBatch, entry.batch));
          break;
        case kNanoseconds:
          entry.measured.nanoseconds = json_.integer();
          break;
        case kSpread:
          entry.measured.spread = json_.integer();
          break;
        default:
          break;
      }
    });
    return entry;
  }

  void add(const Entry& entry) {
    if (json_.failed()) return;
    const bool by_shape = entry.kind && entry.shape;
    if (entry.op ? entry.kind || entry.shape : !by_shape)
      return json_.fail("an entry must have either an \"op\", or a \"kind\" and a \"shape\"");

    // A shape is never empty and has no space, so ops and shapes do not meet.
    std::string key =
        entry.op ? fmt::format(" {}", *entry.op) : fmt::format("{} {}", *entry.shape, *entry.kind);
    const auto [place, is_new] = places_.try_emplace(std::move(key), profile_.series.size());
    if (is_new) {
      profile_.series.push_back({.op = std::string(entry.op.value_or("")),
                                 .kind = std::string(entry.kind.value_or("")),
                                 .shape = std::string(entry.shape.value_or("")),
                                 .by_batch = {}});
    }
    if (!profile_.series[place->second].by_batch.try_emplace(entry.batch, entry.measured).second)
      json_.fail(fmt::format("measured twice at batch {}; write one entry with the median", entry.batch));
  }

  JsonReader& json_;
  Profile profile_;
  std::unordered_map<std::string, std::size_t> places_;  // of a series in the profile
};

}  // namespace

Result<Profile> parse_profile(std::string text, const std::string& source) {
  JsonReader json(std::move(text), source);
  return ProfileReader(json).read();
}

}  // namespace checkmate
